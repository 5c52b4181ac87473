import type { HotTier } from '../hot/hot-tier';
import type { Topology } from '../hot/topology';
import { type Era, nextEra } from './era';
import { holdReads } from './read-hold';
import type { RecoveryTable } from './recovery-table';

/** A look that finds hash slots moving between primaries holds reads again if less than this is left, ms. */
const HOLD_LEFT_MS = 60_000;

/** What a look at the primaries has found. */
export interface Observation {
  readonly topology: Topology;
  /**
   * The era after the look. Undefined if a primary did not answer, since it is then unknown what moved, and if
   * every partition counts as lost ({@link EraStep.isLoss}) but nobody has recorded that yet.
   */
  readonly era: Era | undefined;
}

export interface PrimaryWatchDependencies {
  readonly hot: HotTier;
  readonly table: RecoveryTable;
  readonly now: () => number;
}

/** Looks at the primaries of the memory tier, and keeps the era in the recovery table. */
export class PrimaryWatch {
  private readonly recordedLooks = new Shared(() => this.step(true));
  private readonly looks = new Shared(() => this.step(false));

  /**
   * @param noticeAll called with the number of the new era if every partition counts as lost. The era is
   *   recorded after that, so that a crash in between cannot hide the loss
   */
  constructor(
    private readonly dependencies: PrimaryWatchDependencies,
    private readonly noticeAll: (era: number) => Promise<void>,
  ) {}

  /** Looks at the primaries, and records a new era. Used by writers. */
  lookAndRecord(): Promise<Observation> {
    return this.recordedLooks.run();
  }

  /** Looks at the primaries, and records nothing. Used by readers. */
  look(): Promise<Observation> {
    return this.looks.run();
  }

  private async step(isRecorded: boolean): Promise<Observation> {
    const { hot, table, now } = this.dependencies;
    for (;;) {
      // Read the recorded era before looking at the primaries. If another instance records a later look in
      // between, the compare-and-set below refuses this one.
      const [recorded, holds] = await Promise.all([table.era(), table.holds()]);
      const topology = await hot.nodes.topology();
      if (topology.primaries === undefined) return { topology, era: undefined };
      const isScaling = holds.scalingUntilMs > now();
      const { era, isLoss, areMoving } = nextEra(recorded, topology.primaries, isScaling, now());
      if (!isRecorded) return { topology, era: isLoss ? undefined : era };
      if (isLoss) await this.noticeAll(era.number);
      if (era !== recorded && !(await table.putEra(era, recorded))) continue;
      if (areMoving && !isScaling && holds.pressedUntilMs < now() + HOLD_LEFT_MS)
        await holdReads(table, now());
      return { topology, era };
    }
  }
}

/**
 * Runs one piece of work at a time for many callers. Callers that come during a run share the next run, since
 * the present one may have looked before they came.
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
