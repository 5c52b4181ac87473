import { archive } from './archive';
import { codec } from './codec';
import { flush } from './flush';
import type { Benchmark } from './harness/bench';
import { ingest } from './ingest';
import { promql } from './promql';
import { history, query } from './reads';
import { rules } from './rules';
import { elastic } from './studies/elastic';
import { kudu } from './studies/kudu';
import { layout } from './studies/layout';
import { paper } from './studies/paper';
import { tiers } from './studies/tiers';
import { units } from './units';

/** All benchmarks; README.md describes each. */
export const BENCHMARKS: readonly Benchmark[] = [
  codec,
  archive,
  ingest,
  flush,
  query,
  history,
  promql,
  rules,
  units,
  // Reproductions of published studies:
  paper,
  kudu,
  elastic,
  tiers,
  layout,
];
