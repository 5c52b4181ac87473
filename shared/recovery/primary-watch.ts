import type { HotTier } from '../hot/hot-tier';
import type { Topology } from '../hot/topology';
import { type Era, nextEra } from './era';
import { holdReads } from './read-hold';
import type { RecoveryTable } from './recovery-table';

/**
 * How long reads let other work go first after the primaries were found to be moving slots, ms. The flusher
 * looks at the primaries once a minute, so it can prolong the time before it ends.
 */
const MOVING_MS = 90_000;
/** While slots keep moving, a look prolongs that time once less than this is left, ms. */
const MOVING_LEFT_MS = 60_000;

/** The primaries at one time, and the resulting era. */
export interface Observation {
  readonly topology: Topology;
  /** Undefined when a primary did not answer: then it is unknown what moved. */
  readonly era: Era | undefined;
  /** Whether every partition counts as lost ({@link nextEra}). */
  readonly isLoss: boolean;
}

interface PrimaryWatchDependencies {
  readonly hot: HotTier;
  readonly table: RecoveryTable;
  readonly now: () => number;
}

/** Looks at the primaries and keeps the era. */
export class PrimaryWatch {
  private readonly observing = new Shared(() => this.step(true));
  private readonly looking = new Shared(() => this.step(false));

  /**
   * @param noticeAll called if every partition counts as lost, with the new era's number, before that era is
   *   recorded
   */
  constructor(
    private readonly dependencies: PrimaryWatchDependencies,
    private readonly noticeAll: (era: number) => Promise<void>,
  ) {}

  /** Looks at the primaries and records what changed. */
  observe(): Promise<Observation> {
    return this.observing.run();
  }

  /** Looks at the primaries and records nothing, for readers. */
  look(): Promise<Observation> {
    return this.looking.run();
  }

  private async step(isRecorded: boolean): Promise<Observation> {
    const { hot, table, now } = this.dependencies;
    for (;;) {
      // Read the recorded era before the primaries: if another instance records one in between,
      // compare-and-set refuses this one.
      const [recorded, holds] = await Promise.all([table.era(), table.holds()]);
      const topology = await hot.nodes.topology();
      if (topology.primaries === undefined) return { topology, era: undefined, isLoss: false };
      const isScaling = holds.scalingUntilMs > now();
      const { era, isLoss, areMoving } = nextEra(recorded, topology.primaries, isScaling, now());
      if (!isRecorded) return { topology, era, isLoss };
      if (isLoss) await this.noticeAll(era.number);
      if (era !== recorded && !(await table.putEra(era, recorded))) continue;
      if (areMoving && !isScaling && holds.pressedUntilMs < now() + MOVING_LEFT_MS)
        await holdReads(table, now() + MOVING_MS);
      return { topology, era, isLoss };
    }
  }
}

/**
 * Makes one call at a time. Callers that arrive during a call share the next one, so that it begins after
 * they came.
 */
class Shared<T> {
  private running: Promise<T> | undefined;
  private next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  run(): Promise<T> {
    if (this.running === undefined) {
      const running = this.work().finally(() => {
        this.running = undefined;
      });
      this.running = running;
      return running;
    }
    this.next ??= this.running
      .catch(() => {})
      .then(() => {
        this.next = undefined;
        return this.run();
      });
    return this.next;
  }
}
