/** Processes that post a load, for `bench ingest` and during flushes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { POST_MEMORY } from '../../shared/compose/post-memory';
import { ENV } from '../../shared/platform/names';
import { parseSettings } from '../../shared/platform/settings';
import type { Harness } from './harness/harness';
import { Worker } from './harness/worker';
import type { IngestTask, Round, Way } from './workers/ingest';

/** A load posted by all processes together. */
export interface Load extends Omit<IngestTask, 'worker'> {
  readonly cpuProf?: string | undefined;
}

/**
 * Starts a process that posts its share of a load. It uses a real Valkey; maps in the process stand in for
 * AWS.
 */
export function startIngest(harness: Harness, { cpuProf, ...load }: Load, worker = 0): Promise<Worker> {
  const task: IngestTask = { ...load, worker };
  return Worker.start(harness, 'ingest', {
    execArgv: [POST_MEMORY.nodeOptions, '--expose-gc'],
    cpuProf,
    replaced: { '@smithy/node-http-handler': 'in-process-aws' },
    env: {
      ...process.env,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      BENCH_TASK: JSON.stringify(task),
      // Lift the limits that a tenant of this size would reach.
      [ENV.settings]: JSON.stringify(parseSettings({ maxSamplesPerMinute: 1e12, maxSeries: 1e9 })),
      [ENV.stream]: 'stream',
      [ENV.metaTable]: 'meta',
      [ENV.bucket]: 'bucket',
      [ENV.redis]: load.redisUrl,
    },
  });
}

/** Makes a process generate the requests of one minute for its hosts. */
export function makeMinute(
  worker: Worker,
  minute: number,
  timeMs: number,
  isWarmUp = false,
): Promise<object> {
  return worker.request({ make: [minute, timeMs, isWarmUp] });
}

/** Posts the minute generated last. */
export function postMinute(worker: Worker, way: Way = 'ours'): Promise<Round> {
  return worker.request<Round>({ run: way });
}

/**
 * Makes a process post all its hosts, minute by minute, at a given rate. If the process cannot keep up with the rate,
 * it posts each minute as soon as the previous one is in memory.
 *
 * @param rate samples per second
 * @param fromMs time of the first minute
 * @param over ends the posts when it is aborted
 */
export async function offer(
  ingest: Worker,
  rate: number,
  pointsPerMinute: number,
  fromMs: number,
  over: AbortSignal,
): Promise<{ readonly pointsPerSecond: number; readonly cpuPerMillion: { post: number; ingest: number } }> {
  const beganMs = performance.now();
  let [points, postMs, ingestMs] = [0, 0, 0];
  for (let minute = 0; rate > 0 && !over.aborted; minute++) {
    const dueMs = beganMs + (minute * pointsPerMinute * 1000) / rate;
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal: over }).catch(() => {});
    if (over.aborted) break;
    await makeMinute(ingest, minute, fromMs + minute * 60_000);
    const round = await postMinute(ingest);
    points += round.points;
    postMs += round.postCpuMs;
    ingestMs += round.ingestCpuMs;
  }
  const perMillion = (ms: number) => (points === 0 ? 0 : (ms * 1000) / points);
  return {
    pointsPerSecond: Math.round((points * 1000) / (performance.now() - beganMs)),
    cpuPerMillion: { post: perMillion(postMs), ingest: perMillion(ingestMs) },
  };
}
