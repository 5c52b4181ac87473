import { archive } from './archive';
import { archiveDay } from './archive-day';
import { codec } from './codec';
import { coldStart } from './cold-start';
import { flush } from './flush';
import type { Benchmark } from './frame/bench';
import { http } from './http';
import { ingest } from './ingest';
import { minutes } from './minutes';
import { monitors } from './monitors';
import { noisy } from './noisy';
import { placement } from './placement';
import { promql } from './promql';
import { history, query } from './reads';
import { rules } from './rules';
import { index } from './series-index';
import { spread } from './spread';
import { elastic } from './studies/elastic';
import { kudu } from './studies/kudu';
import { layout } from './studies/layout';
import { paper } from './studies/paper';
import { tiers } from './studies/tiers';
import { tenants } from './tenants';
import { units } from './units';

/** All benchmarks; README.md describes each. */
export const BENCHMARKS: readonly Benchmark[] = [
  ...[codec, archive, archiveDay, minutes],
  ...[ingest, flush, query, history, promql, http],
  ...[index, placement, spread, tenants, noisy, rules, monitors, coldStart, units],
  // Reproductions of published studies.
  ...[paper, kudu, elastic, tiers, layout],
];
