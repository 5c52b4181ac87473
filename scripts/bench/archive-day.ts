/** `npm run bench -- archive-day`: a partition-day of any size, archived in slices by processes that are killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Command } from 'commander';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../infra/bundle-options';
import { Manifest } from '../../shared/cold/manifest';
import { ENV } from '../../shared/platform/names';
import { Random } from '../faults/random';
import type { ArchiveDayAnswer, ArchiveDayTask } from './archive-day-worker';
import { DAY, REF } from './generated-day';
import { type Stores, startStores } from './stores';

interface Slice {
  readonly end: 'done' | 'out of time' | 'killed';
  readonly seconds: number;
  readonly peakMb: number;
}

interface Result {
  readonly samples: number;
  readonly series: number;
  readonly parts: number;
  readonly bytes: number;
  readonly slices: readonly Slice[];
  readonly peakMb: number;
  /** Of slices that were not killed; without what made the samples. */
  readonly archiveCpuSeconds: number;
  readonly verifySeconds: number | undefined;
}

interface Options {
  readonly samples: string;
  readonly series: string;
  readonly partBytes: string;
  readonly sliceSeconds: string;
  readonly kills: string;
  readonly seed: string;
  readonly memoryMb: string;
  readonly verify: boolean;
  readonly json?: boolean;
}

/** @param args what follows `archive-day` on the command line */
export async function benchArchiveDay(args: string[]): Promise<void> {
  const command = new Command('bench archive-day')
    .description(
      'Archives a generated partition-day in slices, kills some of them at random, and compares what is archived with what was ' +
        "generated, sample by sample. S3 and DynamoDB's meta table are the stand-in for AWS; warm items are made in the process.",
    )
    .option('--samples <number>', 'samples of the day', '50000000')
    .option('--series <number>', 'series, 250 a host', '25000')
    .option('--part-bytes <bytes>', 'the setting archivePartBytes', '256000000')
    .option('--slice-seconds <seconds>', 'time of a slice', '780')
    .option('--kills <number>', 'slices that are killed, each at a random time', '2')
    .option('--seed <number>', 'of those times', '1')
    .option('--memory-mb <megabytes>', 'fails if a slice takes more', '3008')
    .option('--no-verify', 'do not read back')
    .option('--json', 'one object on stdout instead of lines');
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const dir = mkdtempSync(join(tmpdir(), 'bench-archive-day-'));
  const stores = await startStores(dir);
  try {
    const result = await run(dir, stores, options);
    process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : describe(result));
    if (result.peakMb > Number(options.memoryMb))
      throw new Error(`${result.peakMb} MB exceed ${options.memoryMb}`);
  } finally {
    await stores.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function run(dir: string, stores: Stores, options: Options): Promise<Result> {
  const [samples, series, partBytes, kills, seed] = (
    ['samples', 'series', 'partBytes', 'kills', 'seed'] as const
  ).map((name) => Number(options[name])) as [number, number, number, number, number];
  const sliceMs = 1000 * Number(options.sliceSeconds);
  const random = new Random(seed);
  const outfile = join(dir, 'archiver.js');
  await build({
    ...BUNDLE_OPTIONS,
    entryPoints: [join(__dirname, 'archive-day-worker.ts')],
    outfile,
    minify: false,
  });
  const table = { client: new DynamoDBClient(stores.address), name: stores.environment[ENV.metaTable]! };
  await new Manifest(table).announce(REF, DAY);
  table.client.destroy();
  const port = Number(new URL(stores.address.endpoint).port);
  const task: ArchiveDayTask = { samples, series, port, partBytes, act: 'archive', sliceMs };
  const work = (of: ArchiveDayTask, killAfterMs?: number) =>
    runSlice(outfile, stores.environment, Number(options.memoryMb), of, killAfterMs);

  const slices: Slice[] = [];
  let cpuMs = 0;
  let archived: ArchiveDayAnswer | undefined;
  // Of the time that the day would take: 1.2 us a sample, made and archived.
  const expectedMs = Math.min(sliceMs, (1.2 * samples) / 1000);
  while (archived === undefined) {
    const isKilled = slices.length < kills;
    const { answer, ...slice } = await work(task, isKilled ? random.next() * expectedMs : undefined);
    slices.push({ ...slice, end: answer === undefined ? 'killed' : answer.isDone ? 'done' : 'out of time' });
    process.stderr.write(`slice ${slices.length}: ${JSON.stringify(slices.at(-1))}\n`);
    cpuMs += answer === undefined ? 0 : answer.cpuMs - answer.generatedMs;
    if (answer?.isDone) archived = answer;
  }
  const verified = options.verify ? await work({ ...task, act: 'verify' }) : undefined;
  if (verified !== undefined && !verified.answer?.isDone)
    throw new Error('what was archived could not be verified');
  return {
    samples: archived.samples,
    series,
    parts: archived.parts,
    bytes: archived.bytes,
    slices,
    peakMb: Math.max(...slices.map(({ peakMb }) => peakMb)),
    archiveCpuSeconds: Math.round(cpuMs / 100) / 10,
    verifySeconds: verified?.seconds,
  };
}

async function runSlice(
  outfile: string,
  environment: NodeJS.ProcessEnv,
  memoryMb: number,
  task: ArchiveDayTask,
  killAfterMs: number | undefined,
) {
  const beganMs = performance.now();
  const child = fork(outfile, {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    execArgv: [`--max-old-space-size=${memoryMb}`],
    env: environment,
  });
  let answer: ArchiveDayAnswer | undefined;
  let peakMb = 0;
  child.on('message', (message) => {
    answer = message as ArchiveDayAnswer;
  });
  child.send(task);
  const exited = once(child, 'exit').then(() => true);
  if (killAfterMs !== undefined)
    sleep(killAfterMs, undefined, { ref: false }).then(() => child.kill('SIGKILL'));
  while (!(await Promise.race([exited, sleep(200, false)]))) peakMb = Math.max(peakMb, peakMemoryMb(child));
  const seconds = Math.round((performance.now() - beganMs) / 100) / 10;
  if (answer === undefined && child.signalCode !== 'SIGKILL')
    throw new Error(`the archiver ended with ${child.exitCode}`);
  return { answer, seconds, peakMb };
}

/** The most memory that a process has had, as Linux says it; else 0. */
function peakMemoryMb({ pid }: ChildProcess): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Math.round(Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024);
  } catch {
    return 0;
  }
}

function describe({
  samples,
  series,
  parts,
  bytes,
  slices,
  peakMb,
  archiveCpuSeconds,
  verifySeconds,
}: Result): string {
  const rows = slices.map(
    ({ end, seconds, peakMb }, i) => `slice ${i + 1}  ${seconds} s  ${peakMb} MB  ${end}`,
  );
  const perSample = (bytes / samples).toFixed(3);
  const verified = verifySeconds === undefined ? '' : `; every sample compared in ${verifySeconds} s`;
  return [
    ...rows,
    `${samples} samples of ${series} series: ${parts} parts, ${perSample} bytes a sample, at most ${peakMb} MB, ${archiveCpuSeconds} s of CPU in slices that ended${verified}`,
    '',
  ].join('\n');
}
