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
  /** Looks at every partition, whatever is known of it. */
  readonly isAll: boolean;
  /** Where to begin among the partitions that have something due, as a fraction in [0, 1). */
  readonly startAt: number;
}

/** Returns the lanes that an instance is given, one another time; each is made once. */
export function flushLanes(dependencies: LaneDependencies): (lane: number, lanes: number) => FlushLane {
  const made = new Map<string, FlushLane>();
  return (lane, lanes) => {
    const key = `${lane} of ${lanes}`;
    const known = made.get(key) ?? new FlushLane(dependencies, lane, lanes);
    made.set(key, known);
    return known;
  };
}

/** Ids of tenants are base64url; the first character of one tells its share of the list. In the order of ASCII. */
const FIRST_CHARACTERS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const TENANTS_ASKED_AT_ONCE = 16;

/**
 * One of the flushers side by side. A round costs what may be due: it surveys some hundred partitions a call, and asks one by one
 * only for those that have something due or whose mark is not their primary's.
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
   * @returns the sum; `oldestMs` and `lowestArrivalMs` are of all partitions of the lane, looked at or not
   */
  async round({ nowMs, watermarkMs, isAll, startAt, ...task }: LaneRound): Promise<FlushSum> {
    const { hot, losses } = this.dependencies;
    const { dueBeforeMs, spreadMs } = task;
    const { known } = this;
    const [{ topology, era }, replay] = await Promise.all([
      losses.observe(),
      this.dependencies.recovery.replay(),
    ]);
    // What is remembered is no longer true where a primary was wiped or replaced, or old arrivals were appended again.
    const isStale =
      topology.text !== this.topology || replay?.state === 'running' || replay?.id !== this.replay;
    await mapLimited(known.nextShares(isAll), LIST_SHARES, (share) => this.list(share, watermarkMs));

    const due: PartitionRef[] = [];
    /** Looks at partitions, adds those that have something due. @returns those that only a call each can tell of */
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
    // Who notices a loss marks every partition that it concerns.
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
    // Of a partition whose slot moves, a survey may have seen a part.
    const isSteady = !topology.isMoving && (await hot.nodes.topology()).text === topology.text;
    return {
      ...sumFlushes(flushes),
      oldestMs: known.oldestMs(),
      lowestArrivalMs: isSteady ? known.lowestArrivalMs(watermarkMs) : 0,
    };
  }

  /** The lane's partitions, as listed by its rounds. */
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

  /** Has a loss noticed by one of the partitions whose marks are wrong. */
  private async resolveOne(refs: readonly PartitionRef[]): Promise<void> {
    const { losses, tenants } = this.dependencies;
    for (const ref of refs) {
      if (await tenants.isDeleted(ref.tenantId)) continue;
      // If its node does not answer, flushing it fails too, and tells why.
      await losses.resolve(ref).catch(() => {});
      return;
    }
  }

  /** Leaves out deleted tenants, which are being erased: nothing may be written for them any more. */
  private async ofLivingTenants(refs: readonly PartitionRef[]): Promise<PartitionRef[]> {
    const { tenants } = this.dependencies;
    const ids = [...new Set(refs.map(({ tenantId }) => tenantId))];
    const isDeleted = await mapLimited(ids, TENANTS_ASKED_AT_ONCE, (id) => tenants.isDeleted(id));
    const deleted = new Set(ids.filter((_, i) => isDeleted[i]));
    // Not looked at, they would hold the lane's watermark back until they are erased.
    for (const ref of refs) if (deleted.has(ref.tenantId)) this.known.forget(ref);
    return refs.filter(({ tenantId }) => !deleted.has(tenantId));
  }
}
