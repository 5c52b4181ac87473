import { laneOf, rotated } from '../model/partitions';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { RecoveryTable } from '../recovery/recovery-table';
import type { Tenants } from '../tenancy/tenants';
import { KnownPartitions, LIST_SLICES } from './known-partitions';
import {
  type FlushSum,
  type FlushTask,
  flushPartitions,
  type PartitionsDependencies,
  sumFlushes,
} from './partitions';

export interface LaneDependencies extends PartitionsDependencies {
  readonly recovery: Pick<RecoveryTable, 'registered' | 'replay'>;
  readonly tenants: Pick<Tenants, 'isDeleted'>;
}

/** What one round of a lane should do. */
export interface LaneRound extends FlushTask {
  /** A time shortly before the round, by the store's clock, ms. */
  readonly nowMs: number;
  /** The stream's watermark: every record that arrived earlier is in memory, ms; 0 if unknown. */
  readonly watermarkMs: number;
  /** Whether to survey every partition, whatever the lane remembers of it. */
  readonly isAll: boolean;
  /**
   * The place in the list of due partitions at which to begin, as a fraction in [0, 1). Callers vary it, so
   * that no partition is always last.
   */
  readonly startAt: number;
}

/**
 * Returns a function that gives an instance its lanes. The schedule may call one instance for different lanes
 * over time. It makes each lane once, and keeps it.
 */
export function flushLanes(dependencies: LaneDependencies): (lane: number, lanes: number) => FlushLane {
  const made = new Map<string, FlushLane>();
  return (lane, lanes) => {
    const key = `${lane} of ${lanes}`;
    const known = made.get(key) ?? new FlushLane(dependencies, lane, lanes);
    made.set(key, known);
    return known;
  };
}

/**
 * The characters of base64url in ASCII order. The list of partitions is ordered by tenant id, which is
 * base64url, so the first character of an id decides in which slice of the list it is.
 */
const FIRST_CHARACTERS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
/** Look-ups of tenants at the same time. */
const TENANTS_ASKED_AT_ONCE = 16;

/**
 * A lane: one of several flushers that work in parallel, each on its own partitions. The schedule calls it
 * once a minute for a round. A round surveys hundreds of partitions with one call. It calls single partitions
 * only if something is due in them, or if their mark is not that of their primary.
 */
export class FlushLane {
  private readonly known = new KnownPartitions();
  /** {@link Topology.text} at the last round, to notice that a primary was replaced. */
  private topology: string | undefined;
  /** Id of the last replay that had ended before the last round. */
  private replay: string | undefined;

  constructor(
    private readonly dependencies: LaneDependencies,
    private readonly lane: number,
    private readonly lanes: number,
  ) {}

  /**
   * Flushes what is due in the lane's partitions.
   *
   * @returns the sum of the flushes. Its `oldestMs` and `lowestArrivalMs` concern all partitions of the lane,
   *   surveyed in this round or not
   */
  async round({ nowMs, watermarkMs, isAll, startAt, ...task }: LaneRound): Promise<FlushSum> {
    const { hot, losses } = this.dependencies;
    const { dueBeforeMs, spreadMs } = task;
    const { known } = this;
    const [{ topology, era }, replay] = await Promise.all([
      losses.lookAndRecord(),
      this.dependencies.recovery.replay(),
    ]);
    // Do not rely on earlier surveys after a primary was wiped or replaced, or while a replay appends records
    // that arrived long ago.
    const isStale =
      topology.text !== this.topology || replay?.state === 'running' || replay?.id !== this.replay;
    await mapLimited(known.nextSlices(isAll), LIST_SLICES, (slice) => this.list(slice, watermarkMs));

    const due: PartitionRef[] = [];
    /**
     * Surveys partitions, and adds those with something due to `due`.
     *
     * @returns the partitions whose mark is missing or wrong, so that the survey says nothing about them
     */
    const look = async (refs: readonly PartitionRef[]) => {
      const looks = await hot.marks.survey(refs, spreadMs, topology.isMoving ? undefined : era?.number);
      return refs.filter((ref, i) => {
        const seen = looks[i];
        known.saw(ref, seen && { ...seen, atMs: nowMs, watermarkMs });
        if (seen?.dueMs !== undefined && seen.dueMs <= dueBeforeMs) due.push(ref);
        return seen === undefined;
      });
    };
    let unsure = await look(known.toLookAt(dueBeforeMs, isAll || isStale));
    // Resolving one partition is enough: if memory was lost, it marks all affected partitions.
    if (unsure.length > 0) {
      await this.resolveOne(unsure);
      unsure = await look(unsure);
    }
    this.topology = topology.text;
    this.replay = replay?.state === 'running' ? undefined : replay?.id;
    const asked = await this.ofLivingTenants([...rotated(due, startAt), ...unsure]);
    const flushes = await flushPartitions(this.dependencies, asked, task);
    flushes.forEach(({ oldestMs, lowestArrivalMs }, i) => {
      const isKnown = lowestArrivalMs > 0;
      known.saw(asked[i]!, isKnown ? { oldestMs, lowestArrivalMs, atMs: nowMs, watermarkMs } : undefined);
    });
    // While hash slots move between primaries, a survey may miss keys of a partition.
    const isSteady = !topology.isMoving && (await hot.nodes.topology()).text === topology.text;
    return {
      ...sumFlushes(flushes),
      oldestMs: known.oldestMs(),
      lowestArrivalMs: isSteady ? known.lowestArrivalMs(watermarkMs) : 0,
    };
  }

  /** Returns the partitions of the lane that its rounds have found so far. */
  partitions(): PartitionRef[] {
    return this.known.refs();
  }

  private async list(slice: number, watermarkMs: number): Promise<void> {
    const first = (of: number) =>
      FIRST_CHARACTERS[Math.floor((FIRST_CHARACTERS.length * of) / LIST_SLICES)] ?? '~';
    const refs = await this.dependencies.recovery.registered({ from: first(slice), to: first(slice + 1) });
    this.known.list(
      slice,
      refs.filter((ref) => laneOf(ref, this.lanes) === this.lane),
      watermarkMs,
    );
  }

  /**
   * Resolves the missing or wrong mark of one of these partitions. If that is a loss, it is recorded for all
   * partitions with such marks.
   */
  private async resolveOne(refs: readonly PartitionRef[]): Promise<void> {
    const { losses, tenants } = this.dependencies;
    for (const ref of refs) {
      if (await tenants.isDeleted(ref.tenantId)) continue;
      // If the node does not answer, the flush of the partition fails too, and reports the reason.
      await losses.resolve(ref).catch(() => {});
      return;
    }
  }

  /** Removes partitions of deleted tenants: while a tenant is being erased, nothing may be written for it. */
  private async ofLivingTenants(refs: readonly PartitionRef[]): Promise<PartitionRef[]> {
    const { tenants } = this.dependencies;
    const ids = [...new Set(refs.map(({ tenantId }) => tenantId))];
    const isDeleted = await mapLimited(ids, TENANTS_ASKED_AT_ONCE, (id) => tenants.isDeleted(id));
    const deleted = new Set(ids.filter((_, i) => isDeleted[i]));
    // Forget these partitions. Nobody surveys them any more, so their old surveys would hold back the lane's
    // lowest arrival time until they are erased.
    for (const ref of refs) if (deleted.has(ref.tenantId)) this.known.forget(ref);
    return refs.filter(({ tenantId }) => !deleted.has(tenantId));
  }
}
