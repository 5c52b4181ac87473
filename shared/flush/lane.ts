import { laneOf, rotated } from '../model/partitions';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { RecoveryTable } from '../recovery/recovery-table';
import type { Tenants } from '../tenancy/tenants';
import { KnownPartitions, LIST_SHARES } from './known-partitions';
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

export interface LaneRound extends FlushTask {
  /** A time before the round, by the store's clock, ms. */
  readonly nowMs: number;
  /** Everything that arrived in the stream earlier has been appended, ms; 0 when that is unknown. */
  readonly watermarkMs: number;
  /** Surveys every partition, whatever is remembered of it. */
  readonly isAll: boolean;
  /**
   * Where to begin among the partitions that have something due, as a fraction in [0, 1). It varies, so that
   * no partition is always last.
   */
  readonly startAt: number;
}

/**
 * Returns a function that makes the lanes of an instance. The schedule may give an instance different lanes
 * over time; each is made once and kept.
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
 * Tenant ids are base64url, and the first character of an id decides in which part of the list it is. These
 * are in ASCII order.
 */
const FIRST_CHARACTERS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const TENANTS_ASKED_AT_ONCE = 16;

/**
 * One of several flushers that work in parallel, each on its own share of the partitions. A round surveys
 * hundreds of partitions with one call, and makes single calls only for partitions that have something due or
 * whose mark is not their primary's.
 */
export class FlushLane {
  private readonly known = new KnownPartitions();
  private topology: string | undefined;
  private replay: string | undefined;

  constructor(
    private readonly dependencies: LaneDependencies,
    private readonly lane: number,
    private readonly lanes: number,
  ) {}

  /**
   * Flushes what is due.
   *
   * @returns the sum; `oldestMs` and `lowestArrivalMs` cover all partitions of the lane, including those not
   *   surveyed now
   */
  async round({ nowMs, watermarkMs, isAll, startAt, ...task }: LaneRound): Promise<FlushSum> {
    const { hot, losses } = this.dependencies;
    const { dueBeforeMs, spreadMs } = task;
    const { known } = this;
    const [{ topology, era }, replay] = await Promise.all([
      losses.observe(),
      this.dependencies.recovery.replay(),
    ]);
    // Remembered surveys are no longer true after a primary was wiped or replaced, or while a replay appends
    // old arrivals.
    const isStale =
      topology.text !== this.topology || replay?.state === 'running' || replay?.id !== this.replay;
    await mapLimited(known.nextShares(isAll), LIST_SHARES, (share) => this.list(share, watermarkMs));

    const due: PartitionRef[] = [];
    /**
     * Surveys partitions and adds those with something due to the partitions to be flushed in this round.
     *
     * @returns the partitions that the survey could not judge
     */
    const look = async (refs: readonly PartitionRef[]) => {
      const looks = await hot.marks.survey(refs, true, spreadMs, topology.isMoving ? undefined : era?.number);
      return refs.filter((ref, i) => {
        const seen = looks[i];
        known.saw(ref, seen && { ...seen, atMs: nowMs, watermarkMs });
        if (seen?.dueMs !== undefined && seen.dueMs <= dueBeforeMs) due.push(ref);
        return seen === undefined;
      });
    };
    let unsure = await look(known.toLookAt(dueBeforeMs, isAll || isStale));
    // One call is enough: the instance that notices a loss marks every affected partition.
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
    // While slots move, a survey may have missed a part of a partition.
    const isSteady = !topology.isMoving && (await hot.nodes.topology()).text === topology.text;
    return {
      ...sumFlushes(flushes),
      oldestMs: known.oldestMs(),
      lowestArrivalMs: isSteady ? known.lowestArrivalMs(watermarkMs) : 0,
    };
  }

  /** Returns the lane's partitions, as its rounds have listed them. */
  partitions(): PartitionRef[] {
    return this.known.refs();
  }

  private async list(share: number, watermarkMs: number): Promise<void> {
    const first = (of: number) =>
      FIRST_CHARACTERS[Math.floor((FIRST_CHARACTERS.length * of) / LIST_SHARES)] ?? '~';
    const refs = await this.dependencies.recovery.registered({ from: first(share), to: first(share + 1) });
    this.known.list(
      share,
      refs.filter((ref) => laneOf(ref, this.lanes) === this.lane),
      watermarkMs,
    );
  }

  /**
   * Resolves the wrong mark of one of these partitions. Doing so also records a loss for the other partitions
   * whose marks are wrong.
   */
  private async resolveOne(refs: readonly PartitionRef[]): Promise<void> {
    const { losses, tenants } = this.dependencies;
    for (const ref of refs) {
      if (await tenants.isDeleted(ref.tenantId)) continue;
      // If the node does not answer, the flush of the partition fails too and reports why.
      await losses.resolve(ref).catch(() => {});
      return;
    }
  }

  /** Filters out deleted tenants, which are being erased: nothing may be written for them any more. */
  private async ofLivingTenants(refs: readonly PartitionRef[]): Promise<PartitionRef[]> {
    const { tenants } = this.dependencies;
    const ids = [...new Set(refs.map(({ tenantId }) => tenantId))];
    const isDeleted = await mapLimited(ids, TENANTS_ASKED_AT_ONCE, (id) => tenants.isDeleted(id));
    const deleted = new Set(ids.filter((_, i) => isDeleted[i]));
    // Forget them: without new surveys they would hold back the lane's watermark until they are erased.
    for (const ref of refs) if (deleted.has(ref.tenantId)) this.known.forget(ref);
    return refs.filter(({ tenantId }) => !deleted.has(tenantId));
  }
}
