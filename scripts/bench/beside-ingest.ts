/** Reads measured at rest and then beside an ingest: `bench query` and `bench history`. */
import { once } from 'node:events';
import { bundleWorker, startWorker } from './ingest';
import { offer } from './offer';
import type { Measured } from './query-instances';

const HOUR_MS = 3_600_000;
/** A fifth of a second of ingest at 100,000 samples/s. */
const HOSTS = 200;
const METRICS = 100;

/**
 * Runs work while a worker of `bench ingest` posts line protocol; reports the rate that it reached.
 *
 * @param rate samples a second
 */
export async function besideIngest(
  dir: string,
  redisUrl: string,
  rate: number,
  work: () => Promise<void>,
): Promise<void> {
  const load = {
    hosts: String(HOSTS),
    metrics: String(METRICS),
    minutes: '0',
    workers: '1',
    protocol: 'influx',
  } as const;
  const ingest = await startWorker(await bundleWorker(dir), load, 0, redisUrl);
  const gone = once(ingest, 'exit');
  const over = new AbortController();
  try {
    const offered = offer(ingest, rate, HOSTS * METRICS, Date.now() - 20 * HOUR_MS, over.signal);
    await work();
    over.abort();
    const { points, elapsedMs } = await offered;
    const reached = Math.round(points / (elapsedMs / 1000));
    process.stderr.write(`beside ingest of ${reached} samples/s of ${rate} offered\n`);
  } finally {
    ingest.disconnect();
    await gone;
  }
}

/** A kind of query, measured at rest or beside ingest. */
export interface MeasuredKind extends Pick<Measured, 'cpuMs' | 'p99Ms'> {
  readonly kind: string;
  readonly underIngest: boolean;
}

/** For people: by how much CPU and p99 of each kind grow beside ingest. */
export function growthBesideIngest(results: readonly MeasuredKind[]): string[] {
  return results
    .filter(({ underIngest }) => underIngest)
    .flatMap((beside) => {
      const rest = results.find(({ kind, underIngest }) => kind === beside.kind && !underIngest);
      if (rest === undefined) return [];
      const times = (of: 'cpuMs' | 'p99Ms') => (beside[of] / rest[of]).toFixed(2);
      return `${beside.kind.padEnd(12)} beside ingest: CPU ${times('cpuMs')} times (${rest.cpuMs} to ${beside.cpuMs} ms), p99 ${times('p99Ms')} times`;
    });
}
