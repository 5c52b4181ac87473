import { createHash } from 'node:crypto';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/model/duration';
import { Random } from '../faults/random';
import type { Actor } from './actors/actor';
import { agents, HOSTS } from './actors/agents';
import { OPERATORS } from './actors/operators';
import { compareHost, READERS } from './actors/readers';
import { STORMS } from './actors/storms';
import { TENANTS } from './actors/tenants';
import { compareArchive } from './archive';
import { checkInvariants } from './invariants';
import { Stage } from './stage';
import { startWorld, type World } from './world';

export interface SimulationOptions {
  readonly seed: number;
  readonly days: number;
  /** Number of hosts of the first tenant. */
  readonly hosts: number;
  /** Number of series of each host. Each series has a sample each minute. */
  readonly series: number;
  /** Minutes between two posts of an agent. */
  readonly every: number;
  /** Factor by which actors act more often than usual. */
  readonly pace: number;
  /** Minutes between two runs of the functions that run every minute. */
  readonly tick: number;
  readonly faults: boolean;
  /** Names of actors to leave out. */
  readonly without: readonly string[];
  /** Name of a bug to plant (planted.ts). */
  readonly plant?: string;
  readonly report: (line: string) => void;
  readonly onTrace?: (line: string) => void;
}

export type SimulationResult = Awaited<ReturnType<typeof simulate>>;

/** Start of the simulation: midnight UTC, in a leap year. */
const START_MS = Date.UTC(2028, 1, 26);
/** Maximum time until everything has settled after the faults have ended, in ms. */
const REST_MS = 8 * HOUR_MS;

/** Maximum time from the end of a day until it has been archived, in ms. `archiveAfter` is six hours. */
const ARCHIVED_AFTER_MS = 7 * HOUR_MS;

/** Time between two checks of the invariants, in ms. */
const LOOK_MS = HOUR_MS;

/** All actors, in the order in which the help lists them. */
export const ACTORS: readonly Actor[] = [...HOSTS, ...TENANTS, ...OPERATORS, ...READERS, ...STORMS];

/**
 * Runs the pipeline for a number of virtual days, and compares what it returns with the samples that it acknowledged.
 */
export async function simulate(options: SimulationOptions) {
  const world = await startWorld(options, START_MS, options.onTrace);
  try {
    const stage = new Stage(world, options, world.scheduler.random.fork());
    const run = new Run(world, stage, options);
    if (!options.faults) world.calm();
    await world.scheduler.runUntil(Promise.race([run.all(), world.failed]));
    return {
      seed: options.seed,
      days: options.days,
      acknowledged: stage.model.acknowledged,
      /** Number of samples that an independent Parquet reader found in the archive when it was compared at the end. */
      parquetSamples: run.parquetSamples,
      /** Descriptions of errors. The simulation ends on the day of the first one. */
      flaws: stage.flaws,
      /** Day on which the simulation ended, from 1. */
      ended: run.day,
      errors: world.errors,
      /** SHA-256 of the trace. */
      trace: world.scheduler.digest(),
      tasks: world.scheduler.tasks,
      acts: Object.fromEntries(run.acts),
      faults: Object.fromEntries(world.faults.used),
      calls: Object.fromEntries([...world.seam.calls].sort()),
      stored: {
        keys: (await world.memory.keys()).length,
        objects: world.models.s3.keys.length,
        objectBytes: world.models.s3.bytes,
        items: world.models.dynamodb.count,
        itemBytes: world.models.dynamodb.bytes,
      },
      secondsPerDay: Math.round((100 * run.cpuSeconds) / run.day) / 100,
    };
  } finally {
    await world.stop();
  }
}

class Run {
  readonly acts = new Map<string, number>();
  /** CPU time of all days, without the start and the final comparison. */
  cpuSeconds = 0;
  /** Number of samples in Parquet objects that were compared at the end. */
  parquetSamples = 0;
  /** Number of the current day, from 1. */
  day = 0;

  constructor(
    private readonly world: World,
    private readonly stage: Stage,
    private readonly options: SimulationOptions,
  ) {}

  async all(): Promise<void> {
    const { world, stage, options } = this;
    await stage.createTenant(2, options.hosts);
    for (const partitions of [1, 3]) await stage.createTenant(partitions, 2);
    options.report(`${options.hosts} hosts are registered`);
    const acting = [agents(options.every), ...ACTORS]
      .filter(({ name }) => !options.without.includes(name))
      .filter((actor) => options.faults || !STORMS.includes(actor))
      .map((actor) => this.actOften(actor));
    for (let day = 1; day <= options.days && stage.flaws.length === 0; day++) {
      this.day = day;
      const endMs = START_MS + day * DAY_MS;
      const before = process.cpuUsage();
      while (stage.nowMs < endMs && stage.flaws.length === 0) {
        await stage.sleep(Math.min(LOOK_MS, endMs - stage.nowMs));
        stage.model.settle();
        await this.atRest(() => checkInvariants(stage, false));
      }
      this.forget();
      const { user, system } = process.cpuUsage(before);
      const seconds = (user + system) / 1e6;
      this.cpuSeconds += seconds;
      options.report(
        `day ${day}: ${stage.model.acknowledged} samples acknowledged, ${world.scheduler.tasks} tasks, ${seconds.toFixed(1)} s of CPU`,
      );
    }
    stage.isEnding = true;
    if (stage.flaws.length > 0) return;
    await Promise.all(acting);
    // Within this time, the last posts reach memory, and the last day is archived.
    world.calm();
    await stage.sleep(REST_MS);
    await this.atRest(() => checkInvariants(stage, true));
    await this.compareAll();
    this.parquetSamples = await compareArchive(stage, new Random(options.seed), ARCHIVED_AFTER_MS);
  }

  /** Runs `look`, which inspects the stores, at a moment when no task runs. */
  private atRest(look: () => Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.world.scheduler.after(0, async () => {
        await look();
        resolve();
      });
    });
  }

  private async actOften(actor: Actor): Promise<void> {
    const { stage, world } = this;
    // Each actor has its own random generator, so it draws the same numbers even if another actor is left out.
    const random = new Random(
      createHash('sha256').update(`${this.options.seed} ${actor.name}`).digest().readUInt32BE(),
    );
    const isSteady = actor.everyMs[0] === actor.everyMs[1];
    const [least, most] = actor.everyMs.map((ms) => Math.ceil(isSteady ? ms : ms / this.options.pace)) as [
      number,
      number,
    ];
    await stage.rest(random.integer(0, isSteady ? 30_000 : most));
    while (!stage.isEnding) {
      const startedMs = stage.nowMs;
      this.acts.set(actor.name, (this.acts.get(actor.name) ?? 0) + 1);
      if (!isSteady) stage.note(actor.name);
      await actor.act(stage, random).catch(world.fail);
      await stage.rest(startedMs + random.integer(least, most) - stage.nowMs);
    }
  }

  /** Removes samples past the retention from the model, so that a year fits into memory. */
  private forget(): void {
    const { stage } = this;
    for (const { hosts, retentionMs } of stage.tenants)
      for (const { series } of hosts)
        for (const each of series) stage.model.forget(each, (stage.nowMs - retentionMs) / 1000 - 3 * 86_400);
  }

  /** Compares every host with the model: the last hours before {@link REST_MS}, and some earlier hours. */
  private async compareAll(): Promise<void> {
    const { stage } = this;
    const random = new Random(this.options.seed);
    const lastS = Math.floor(stage.nowMs / MINUTE_MS) * 60;
    for (const tenant of stage.liveTenants)
      for (const host of tenant.hosts) {
        const firstS = Math.max(
          stage.startS,
          tenant.goneBeforeS,
          Math.ceil((stage.nowMs - tenant.retentionMs) / MINUTE_MS) * 60 + 7200,
        );
        for (const back of [8 * 3600 + 19 * 3600, random.integer(0, 14 * 86_400)]) {
          const from = Math.max(firstS, lastS - Math.floor(back / 60) * 60);
          await compareHost(stage, tenant, host, from, Math.min(lastS, from + 19 * 3600));
        }
      }
  }
}
