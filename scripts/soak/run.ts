import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { FORMATS } from '../../shared/model/formats';
import type { Labels } from '../../shared/model/labels';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import { Faults, type KillPoint } from '../faults/faults';
import { Random } from '../faults/random';
import { startStack } from '../local/stack';
import { archive } from '../ops/archive';
import { drain } from '../ops/drain';
import { Functions } from '../ops/invoke';
import { ApiClient } from './api-client';
import { befall, type ChaosDependencies, expireLeases } from './chaos';
import { type Flaws, Ledger } from './ledger';
import { runLoad } from './load';
import { planFaults, VICTIMS } from './plan';
import { SHAPES, type Shape, senderOf } from './senders';
import { watch } from './watch';

export interface SoakOptions {
  readonly seed: number;
  readonly minutes: number;
  /** Senders, of each shape in turn. */
  readonly senders: number;
  /** Series of each. */
  readonly metrics: number;
  readonly report: (line: string) => void;
}

export interface SoakResult {
  readonly seed: number;
  readonly minutes: number;
  /** Samples of acknowledged requests. */
  readonly acked: number;
  /** Faults that had an effect, kills included. */
  readonly faults: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  /** The ingester's largest consumer lag. */
  readonly maxLagSeconds: number;
  /** Reads during the load that lacked a sample of an earlier read; and all reads. */
  readonly gaps: number;
  readonly reads: number;
  readonly kills: number;
  /** How often a fault of each kind had an effect. */
  readonly kinds: Readonly<Record<string, number>>;
  /** Changes of state that were seen; sides (before, after) at which a function was killed; sides left out. */
  readonly killPoints: number;
  readonly killPointsHit: number;
  readonly killPointsMissed: readonly string[];
}

const SETTINGS = {
  window: '10s',
  flushDelay: '1s',
  resolution: '1s',
  streamShards: '2',
  partitions: '4',
  flusherLanes: '2',
};
const LANES = 2;
/** Shapes in the order in which senders get them. */
const ORDER = Object.keys(SHAPES) as Shape[];
/** One post of a sender. */
const POST_EVERY_MS = 1_000;
/** A deployed stage's schedules, faster by the factor by which windows are shorter. */
const FLUSH_EVERY_MS = 1_000;
const ARCHIVE_EVERY_MS = 1_000;
const RECOVER_EVERY_MS = 2_000;
/** Between two kills of a function: short, because some changes come in a burst after a loss. */
const KILL_EVERY_MS = [200, 1_500] as const;
const KILL_LOOK_MS = 50;
/** Longest time from the last fault until all is well. */
const CALM_DOWN_MS = 300_000;
const REPORT_EVERY_MS = 10_000;
const ALL = { before: 8.64e15, purge: true };

/** Runs the pipeline under load and faults, lets it recover, and reads everything back. */
export async function soak({
  seed,
  minutes,
  senders: count,
  metrics,
  report,
}: SoakOptions): Promise<SoakResult> {
  const lengthMs = minutes * 60_000;
  const plan = planFaults(seed, lengthMs);
  const random = new Random(seed);
  const faults = new Faults();
  report(`seed ${seed}: ${plan.length} faults in ${minutes} minutes, and kills`);
  const formats = formatsOf(seed);
  report(`records of format ${formats.recordFormat}, frames of format ${formats.frameFormat}`);
  const stack = await startStack({
    port: 0,
    dataDir: undefined,
    settings: { ...SETTINGS, ...formats },
    report: () => {},
    faults,
  });
  const { url, apiKey, redisUrl } = stack.addresses;
  const functions = new Functions(url);
  const redis = new Redis(redisUrl);
  redis.on('error', () => {});
  try {
    const ledger = new Ledger();
    const client = new ApiClient(url, apiKey, ledger);
    const senders = await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const shape = ORDER[i % ORDER.length]!;
        const host = shape === 'dense' ? await client.createHost(`host${i}`) : `host${i}`;
        return senderOf(shape, host, metrics);
      }),
    );
    const series = senders.flatMap((sender) => sender.series);
    const startS = Math.floor(Date.now() / 1000);
    const began = performance.now();
    const elapsedMs = () => performance.now() - began;
    const untilMs = (atMs: number) => sleep(Math.max(0, atMs - elapsedMs()));
    let isLoadOver = false;
    let isMoving = true;
    let maxLagMs = 0;
    const kinds: Record<string, number> = {};
    let befallen = 0;

    const every = async (periodMs: number, work: () => Promise<unknown>) => {
      while (isMoving) {
        await work().catch(() => {});
        await sleep(periodMs);
      }
    };
    const flush = (lane: number) => functions.invoke('flusher', { lane, lanes: LANES });
    const movers = [
      ...Array.from({ length: LANES }, (_, lane) => every(FLUSH_EVERY_MS, () => flush(lane))),
      every(ARCHIVE_EVERY_MS, () => functions.invoke('archiver', ALL)),
      every(RECOVER_EVERY_MS, () => functions.invoke('recovery', {})),
    ];
    const lagTimer = setInterval(() => {
      maxLagMs = Math.max(maxLagMs, stack.host.progress.lagMs);
    }, 200);
    const reportTimer = setInterval(() => {
      const seconds = Math.round(elapsedMs() / 1000);
      const lag = (stack.host.progress.lagMs / 1000).toFixed(1);
      report(
        `${seconds} s: ${ledger.acknowledged} samples acknowledged, ${befallen} faults, consumer lag ${lag} s`,
      );
    }, REPORT_EVERY_MS);

    const load = runLoad(
      client,
      { senders, everyMs: POST_EVERY_MS, startS },
      random.fork(),
      () => isLoadOver,
    );
    const watching = watch(client, { series, startS }, random.fork(), () => isLoadOver);
    const chaos: ChaosDependencies = {
      faults,
      redis,
      killHot: stack.killHot,
      drain: () => functions.invoke('flusher', { drain: true }),
    };
    const misfortunes = plan.map(async (planned) => {
      await untilMs(planned.atMs);
      const hits = await befall(chaos, planned, () => isLoadOver).catch((error: Error) => {
        report(`could not cause the fault ${planned.kind}: ${error.message}`);
        return 0;
      });
      kinds[planned.kind] = (kinds[planned.kind] ?? 0) + (hits > 0 ? 1 : 0);
      befallen += hits > 0 ? 1 : 0;
    });
    let kills = 0;
    const killers = VICTIMS.map(async (victim) => {
      const own = random.fork();
      while (!isLoadOver) {
        await sleep(own.integer(...KILL_EVERY_MS));
        const rule = faults.killSomewhereNew(victim);
        while (rule.hits === 0 && !isLoadOver) await sleep(KILL_LOOK_MS);
        rule.lift();
        kills += rule.hits;
      }
    });
    await untilMs(lengthMs);
    isLoadOver = true;
    await Promise.all([...misfortunes, ...killers, load]);
    faults.off();
    await redis.config('SET', 'maxmemory', 0);
    const { reads, gaps } = await watching;

    report('faults have ended; waiting for recovery');
    const deadline = Date.now() + CALM_DOWN_MS;
    const isInTime = () => Date.now() < deadline;
    await calm(functions, () => stack.host.progress.lagMs, isInTime);
    isMoving = false;
    clearInterval(lagTimer);
    await Promise.all(movers);

    const read = (labels: Labels, from: number, to: number) => client.read(labels, from, to, isInTime);
    const patience = async () => {
      await sleep(1_000);
      return isInTime();
    };
    report(`reading ${ledger.acknowledged} samples back`);
    const asFound = await ledger.verify(read, patience);
    report('moving everything to the archive, and reading it back again');
    await expireLeases(redis);
    await drain(functions, () => {});
    await archive(functions, ALL, () => {});
    const archived = await ledger.verify(read, async () => false);
    clearInterval(reportTimer);
    for (const line of [...asFound.examples, ...archived.examples, ...gaps.slice(0, 10)]) report(line);

    const points = faults.killPoints;
    const sum = (of: keyof Omit<Flaws, 'examples'>) => Math.max(asFound[of], archived[of]);
    return {
      seed,
      minutes,
      acked: ledger.acknowledged,
      faults: befallen + kills,
      lost: sum('lost'),
      doubled: sum('doubled'),
      wrong: sum('wrong'),
      maxLagSeconds: Math.round(maxLagMs / 100) / 10,
      gaps: gaps.length,
      reads,
      kills,
      kinds,
      killPoints: points.length,
      killPointsHit: points.reduce((hit, { killed }) => hit + killed.length, 0),
      killPointsMissed: missedOf(points),
    };
  } finally {
    functions.close();
    redis.disconnect();
    await stack.stop();
  }
}

/** Odd seeds write the newest formats, whose rows of some series share a layout; even ones the oldest. */
function formatsOf(seed: number) {
  const { record, frame } = FORMATS;
  return seed % 2 === 1
    ? {
        recordFormat: String(Math.max(...record.writes)),
        frameFormat: String(Math.max(...frame.writes)),
      }
    : {
        recordFormat: String(Math.min(...record.writes)),
        frameFormat: String(Math.min(...frame.writes)),
      };
}

/** Waits until the stream is read to its end and no loss or replay is open. */
async function calm(functions: Functions, lagMs: () => number, isInTime: () => boolean): Promise<void> {
  let calmLooks = 0;
  while (calmLooks < 3 && isInTime()) {
    const status = await functions
      .invoke<RecoveryStatus>('recovery', { action: 'status' })
      .catch(() => undefined);
    const isCalm =
      status !== undefined && !status.loss?.isOpen && status.replay?.state !== 'running' && lagMs() === 0;
    calmLooks = isCalm ? calmLooks + 1 : 0;
    await sleep(500);
  }
}

function missedOf(points: readonly KillPoint[]): string[] {
  return points.flatMap(({ point, calls, killed }) =>
    (['before', 'after'] as const)
      .filter((phase) => !killed.includes(phase))
      .map((phase) => `${phase} ${point} (${calls} calls)`),
  );
}
