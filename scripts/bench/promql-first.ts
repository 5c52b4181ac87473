import type { PromqlData } from './data/promql-data';
import type { Harness } from './harness/harness';
import { quantile } from './harness/quantile';
import type { Stores } from './harness/stores';
import { QueryInstances } from './query-instances';

interface FirstQuery {
  readonly read: string;
  readonly tier: 'hot' | 'warm' | 'cold';
  readonly stepS: number;
}

const QUERY = 'sum by (mode) (rate(x_total[5m]))';
const QUERIES: readonly FirstQuery[] = [
  { read: 'an hour, hot', tier: 'hot', stepS: 60 },
  { read: '3 hours, warm', tier: 'warm', stepS: 60 },
  { read: 'a day, cold', tier: 'cold', stepS: 300 },
];
/**
 * Number of new instances whose first query is measured. One further instance, with delayed responses, counts the
 * rounds.
 */
const INSTANCES = 3;
/** Delay of responses, in ms. It is longer than an instance works between two responses of a round. */
const HOLD_MS = 1_000;

/**
 * Measures the first query of new instances, whose caches are empty. CPU is the median of what is used after the code
 * was loaded, by all threads, including the HTTP server around the handler.
 *
 * @param only if given, only reads whose text contains it are measured
 */
export async function measureFirst(
  harness: Harness,
  stores: Stores,
  { apiKey, ranges }: PromqlData,
  {
    sources,
    only,
    cpuProf,
  }: { readonly sources: number; readonly only: string; readonly cpuProf?: string | undefined },
): Promise<object[]> {
  const rows: object[] = [];
  const add = harness.adder(rows);
  for (const { read, tier, stepS } of QUERIES.filter((each) => each.read.includes(only))) {
    const { fromMs, toMs } = ranges[tier];
    const parameters = {
      query: QUERY,
      start: String(fromMs / 1000),
      end: String(toMs / 1000 - 15),
      step: String(stepS),
    };
    const path = `/prometheus/api/v1/query_range?${new URLSearchParams(parameters)}`;
    const first = (holdMs: number, profile?: string) =>
      harness.part(async (part) =>
        (await QueryInstances.start(part, stores, 1)).first(path, apiKey, holdMs, profile),
      );
    const { rounds } = await first(HOLD_MS);
    const all: Awaited<ReturnType<typeof first>>[] = [];
    for (let i = 0; i < INSTANCES; i++) all.push(await first(0));
    if (cpuProf !== undefined) await first(0, `${cpuProf}/${tier}`);
    const { requests, readUnits, bytes } = all[0]!;
    const median = (of: 'cpuMs' | 'emulatorMs') =>
      Math.round(
        quantile(
          all.map((each) => each[of]),
          0.5,
        ),
      );
    add({
      read,
      series: sources,
      rounds,
      requests,
      cpuMs: median('cpuMs'),
      readUnits,
      megabytes: Math.round(bytes / 1e5) / 10,
      emulatorMs: median('emulatorMs'),
    });
  }
  return rows;
}
