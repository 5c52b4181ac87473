import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, sum } from './ingest';
import type { Round } from './ingest-worker';

export interface Offered {
  readonly points: number;
  readonly elapsedMs: number;
  readonly postCpuMs: number;
  readonly ingestCpuMs: number;
}

/**
 * Makes a worker of `bench ingest` post minute after minute of all its hosts, at the given rate or, if that is too fast, as
 * soon as the minute before is in memory.
 *
 * @param rate samples a second
 * @param fromMs time of the first minute
 * @param over stops the worker
 */
export async function offer(
  ingest: ChildProcess,
  rate: number,
  pointsPerMinute: number,
  fromMs: number,
  over: AbortSignal,
): Promise<Offered> {
  const beganMs = performance.now();
  const rounds: Round[] = [];
  for (let minute = 0; rate > 0 && !over.aborted; minute++) {
    const dueMs = beganMs + (minute * pointsPerMinute * 1000) / rate;
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal: over }).catch(() => {});
    if (over.aborted) break;
    await ask(ingest, { make: [minute, fromMs + minute * 60_000] });
    rounds.push(await ask<Round>(ingest, { run: 'ours' }));
  }
  return {
    points: sum(rounds, ({ points }) => points),
    elapsedMs: performance.now() - beganMs,
    postCpuMs: sum(rounds, ({ postCpuMs }) => postCpuMs),
    ingestCpuMs: sum(rounds, ({ ingestCpuMs }) => ingestCpuMs),
  };
}
