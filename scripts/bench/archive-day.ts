import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Manifest } from '../../shared/cold/manifest';
import { ENV } from '../../shared/platform/names';
import { Random } from '../faults/random';
import { DAY, REF } from './data/generated-day';
import { bench } from './frame/bench';
import type { Frame } from './frame/frame';
import { count, flag } from './frame/options';
import { startStores } from './frame/stores';
import { Worker } from './frame/worker';
import type { ArchiveDayAnswer, ArchiveDayTask } from './workers/archive-day';

interface Slice {
  readonly end: 'done' | 'out of time' | 'killed';
  readonly seconds: number;
  readonly peakMb: number;
}

export const archiveDay = bench({
  name: 'archive-day',
  summary: 'archiving of a large partition-day in slices, some of which are killed',
  description:
    'Archives a generated partition-day in slices, kills some of them at random, and compares what is archived with what was ' +
    "generated, sample by sample. S3 and DynamoDB's meta table are the stand-in for AWS; warm items are made in the process.",
  options: {
    samples: count('samples of the day', 50_000_000),
    series: count('series, 250 a host', 25_000),
    partBytes: count('the setting archivePartBytes', 256_000_000),
    sliceSeconds: count('time of a slice', 780),
    kills: count('slices that are killed, each at a random time', 2, 0),
    seed: count('seed of the times of the kills', 1, 0),
    memoryMb: count('fail if a slice uses more memory, in MB', 3008),
    verify: flag('skip reading the archive back', true),
  },
  run: async ({ samples, series, partBytes, sliceSeconds, kills, seed, memoryMb, verify }, frame) => {
    const stores = await startStores(frame);
    const sliceMs = 1000 * sliceSeconds;
    const random = new Random(seed);
    const table = { client: new DynamoDBClient(stores.address), name: stores.environment[ENV.metaTable]! };
    await new Manifest(table).announce(REF, DAY);
    table.client.destroy();
    const task: ArchiveDayTask = {
      samples,
      series,
      port: stores.aws.port,
      partBytes,
      act: 'archive',
      sliceMs,
    };
    const work = (of: ArchiveDayTask, killAfterMs?: number) =>
      runSlice(frame, stores.environment, memoryMb, of, killAfterMs);

    const slices: Slice[] = [];
    const add = frame.adder(slices);
    let cpuMs = 0;
    let archived: ArchiveDayAnswer | undefined;
    // Expected time of the whole day: 1.2 us per sample to make and archive it.
    const expectedMs = Math.min(sliceMs, (1.2 * samples) / 1000);
    while (archived === undefined) {
      const isKilled = slices.length < kills;
      const { answer, ...slice } = await work(task, isKilled ? random.next() * expectedMs : undefined);
      add({ ...slice, end: answer === undefined ? 'killed' : answer.isDone ? 'done' : 'out of time' });
      cpuMs += answer === undefined ? 0 : answer.cpuMs - answer.generatedMs;
      if (answer?.isDone) archived = answer;
    }
    const peakMb = Math.max(...slices.map((slice) => slice.peakMb));
    if (peakMb > memoryMb) throw new Error(`${peakMb} MB exceed ${memoryMb}`);
    const verified = verify ? await work({ ...task, act: 'verify' }) : undefined;
    if (verified !== undefined && !verified.answer?.isDone)
      throw new Error('what was archived could not be verified');
    return {
      samples: archived.samples,
      series,
      parts: archived.parts,
      bytes: archived.bytes,
      slices,
      peakMb,
      /** CPU of the slices that were not killed, without that of generating the samples, in s. */
      archiveCpuSeconds: Math.round(cpuMs / 100) / 10,
      verifySeconds: verified?.seconds,
    };
  },
});

async function runSlice(
  frame: Frame,
  env: NodeJS.ProcessEnv,
  memoryMb: number,
  task: ArchiveDayTask,
  killAfterMs: number | undefined,
) {
  const execArgv = [`--max-old-space-size=${memoryMb}`];
  const worker = await Worker.start(frame, 'archive-day', { env, execArgv });
  const beganMs = performance.now();
  let peakMb = 0;
  const exited = once(worker.child, 'exit').then(() => true);
  const asked = worker.ask<ArchiveDayAnswer>(task).finally(() => worker.end());
  const isKilled = killAfterMs !== undefined;
  if (isKilled) sleep(killAfterMs, undefined, { ref: false }).then(() => worker.child.kill('SIGKILL'));
  const answered = asked.catch((error: Error) => {
    if (!isKilled) throw error;
  });
  while (!(await Promise.race([exited, sleep(200, false)]))) peakMb = Math.max(peakMb, peakMemoryMb(worker));
  const answer = await answered;
  return {
    answer: answer ?? undefined,
    seconds: Math.round((performance.now() - beganMs) / 100) / 10,
    peakMb,
  };
}

/** Returns a process's peak memory in MB, according to Linux; 0 elsewhere. */
function peakMemoryMb({ child }: Worker): number {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Math.round(Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}
