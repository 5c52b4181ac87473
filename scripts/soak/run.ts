import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { DAY_MS } from '../../shared/model/duration';
import type { RecoveryStatus } from '../../shared/recovery/replay';
import { Faults, type KillPoint } from '../faults/faults';
import { Random } from '../faults/random';
import { startStack } from '../local/stack';
import { archive } from '../ops/archive';
import { verifyArchive } from '../ops/archive-verify';
import { drain } from '../ops/drain';
import { Functions } from '../ops/invoke';
import { ApiClient } from './api-client';
import { befall, type ChaosDependencies, expireLeases } from './chaos';
import { type Flaws, Ledger, type ReadSeries } from './ledger';
import { runLoad } from './load';
import { planFaults, VICTIMS } from './plan';
import { RuledTenant } from './rules';
import { SHAPES, type Shape, senderOf } from './senders';
import { watch } from './watch';

export interface SoakOptions {
  readonly seed: number;
  readonly minutes: number;
  /** Number of senders. Each gets the next shape in turn. */
  readonly senders: number;
  /** Number of series of each sender. */
  readonly metrics: number;
  readonly report: (line: string) => void;
}

const SETTINGS = {
  window: '10s',
  flushDelay: '1s',
  resolution: '1s',
  streamShards: '2',
  partitions: '4',
  flusherLanes: '2',
  archiveAfter: '0s',
  maxSampleAge: '26d',
  archivePartBytes: '20000',
};
const LANES = 2;
/** Order in which shapes are assigned to senders. */
const ORDER = Object.keys(SHAPES) as Shape[];
/** Time between two posts of a sender, in ms. */
const POST_EVERY_MS = 1_000;
/** Intervals of a deployed stage's schedules, shortened by the same factor as its windows, in ms. */
const FLUSH_EVERY_MS = 1_000;
const ARCHIVE_EVERY_MS = 1_000;
const RECOVER_EVERY_MS = 2_000;
const EVALUATE_EVERY_MS = 5_000;
/**
 * Minimum and maximum time between two kills of a function, in ms. The times are short because some changes of state
 * come in bursts after a loss.
 */
const KILL_EVERY_MS = [200, 1_500] as const;
const KILL_LOOK_MS = 50;
/** Maximum time that the load continues after its planned end, in ms, until every fault has had an effect. */
const OVERTIME_MS = 300_000;
/** Maximum time from the last fault until everything has recovered, in ms. */
const CALM_DOWN_MS = 300_000;
const REPORT_EVERY_MS = 10_000;
const ALL = { before: 8.64e15, purge: true };
/**
 * How far behind the clock late samples are, in seconds: an hour, 20 hours, and days that the setting `maxSampleAge`
 * accepts.
 */
const LAGS_S: readonly number[] = [
  3_600,
  20 * 3_600,
  ...[2.3, 4.6, 7.9, 12.1, 17.4, 23.8].map((days) => Math.round((days * DAY_MS) / 1000)),
];

export type SoakResult = Awaited<ReturnType<typeof soak>>;

/** Runs the pipeline under load and faults, lets it recover, and reads all samples back. */
export async function soak({ seed, minutes, senders: count, metrics, report }: SoakOptions) {
  const lengthMs = minutes * 60_000;
  const plan = planFaults(seed, lengthMs);
  const random = new Random(seed);
  const faults = new Faults();
  report(`seed ${seed}: ${plan.length} faults in ${minutes} minutes, and kills`);
  const stack = await startStack({
    port: 0,
    dataDir: undefined,
    settings: {
      ...SETTINGS,
      // With every other seed, archived items stay in the warm table for a minute. In that minute, reads find a day
      // both in the warm table and, through the manifest, in the archive.
      purgeAfter: seed % 2 === 1 ? '1m' : '20s',
    },
    report: () => {},
    faults,
    seed,
    hasFreedoms: true,
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
    const ruled = await RuledTenant.start(url, functions, lengthMs);
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
      every(EVALUATE_EVERY_MS, () => ruled.evaluate()),
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
      { senders, everyMs: POST_EVERY_MS, startS, lagsS: LAGS_S },
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
    // On a busy machine, the last faults may not have had an effect yet.
    await Promise.race([Promise.all(misfortunes), sleep(OVERTIME_MS, undefined, { ref: false })]);
    isLoadOver = true;
    await Promise.all([...misfortunes, ...killers, load]);
    faults.off();
    await redis.config('SET', 'maxmemory', 0);
    const { reads, gaps } = await watching;

    report('faults have ended; waiting for recovery');
    const checking = ruled.check(Date.now(), calmingDown());
    const isRecovering = calmingDown();
    await calm(functions, () => stack.host.progress.lagMs, isRecovering);
    isMoving = false;
    clearInterval(lagTimer);
    await Promise.all(movers);

    // Each read has its own time limit, so that a slow phase does not shorten the next phase.
    const read: ReadSeries = (labels, from, to) => client.read(labels, from, to, calmingDown());
    const patience = async () => {
      await sleep(1_000);
      return isRecovering();
    };
    report(`reading ${ledger.acknowledged} samples back`);
    const asFound = await ledger.verify(read, patience);
    const ruleCheck = await checking;
    report('moving everything to the archive, and reading it back again');
    await expireLeases(redis);
    await drain(functions, () => {});
    await archive(functions, ALL, () => {});
    const archived = await ledger.verify(read, async () => false);
    const { differences: corrupt } = await verifyArchive(functions, {}, () => {});
    clearInterval(reportTimer);
    const found = [asFound.examples, archived.examples, gaps, ruleCheck.flaws];
    for (const line of found.flatMap((lines) => lines.slice(0, 10))) report(line);
    for (const { key, problem } of corrupt) report(`${key}: ${problem}`);

    const points = faults.killPoints;
    const sum = (of: keyof Omit<Flaws, 'examples'>) => Math.max(asFound[of], archived[of]);
    return {
      seed,
      minutes,
      /** Samples of acknowledged requests. */
      acked: ledger.acknowledged,
      /** Number of faults that had an effect, including kills. */
      faults: befallen + kills,
      lost: sum('lost'),
      doubled: sum('doubled'),
      wrong: sum('wrong'),
      /** Largest consumer lag of the ingester, in seconds. */
      maxLagSeconds: Math.round(maxLagMs / 100) / 10,
      /**
       * Number of samples that a read lacked although an earlier read had them, and number of reads during the load.
       */
      gaps: gaps.length,
      reads,
      /** Number of objects that differ from the manifest. */
      corrupt: corrupt.length,
      /** Number of evaluated ticks of rules, and of flaws in their results. */
      ruleTicks: ruleCheck.ticks,
      ruleFlaws: ruleCheck.flaws.length,
      kills,
      /** Number of effective faults of each kind. */
      kinds,
      /**
       * Number of observed changes of state; number of their sides (before, after) at which a function was killed;
       * number of sides at which none was.
       */
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

/** Returns a function that returns whether there is still time left to calm down. That time starts now. */
function calmingDown(): () => boolean {
  const deadline = Date.now() + CALM_DOWN_MS;
  return () => Date.now() < deadline;
}

/** Waits until the stream has been read completely and no loss or replay is open. */
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
