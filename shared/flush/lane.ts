import { laneOf, rotate } from '../model/partitions';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import type { RecoveryTable } from '../recovery/recovery-table';
import type { Tenants } from '../tenancy/tenants';
import {
  type FlushRun,
  type FlushSum,
  flushPartitions,
  type PartitionsDependencies,
  sumFlushes,
  waitingPartition,
} from './partitions';

export interface LaneDependencies extends PartitionsDependencies {
  readonly recovery: Pick<RecoveryTable, 'registered'>;
  readonly tenants: Pick<Tenants, 'isDeleted'>;
}

/** The parameters of one run of a lane. */
export interface LaneRun extends FlushRun {
  /** Number of the lane, from 0. */
  readonly lane: number;
  readonly lanes: number;
  /**
   * The stream's watermark, in ms, as read before the run; 0 if unknown. Every record that arrived before the watermark
   * has been appended to memory.
   */
  readonly watermarkMs: number;
  /**
   * The position in the list of due partitions at which to begin, as a fraction in [0, 1). Callers vary it, so
   * that no partition is always last.
   */
  readonly startAt: number;
}

/** The result of a run. `oldestMs` and `lowestArrivalMs` cover all partitions of the lane, whether flushed or not. */
export interface LaneSum extends FlushSum {
  /** All partitions of the lane. */
  readonly partitions: readonly PartitionRef[];
}

/** Maximum number of tenants that are looked up at the same time. */
const TENANTS_READ_AT_ONCE = 16;

/**
 * Flushes the due group-windows in the partitions of a lane. A lane is one of several flushers that work in parallel,
 * each on its own partitions. The schedule invokes a run of each lane once a minute. A run surveys hundreds of
 * partitions with one call. It makes separate calls for a partition only if the partition has a group-window that is
 * due, or if the partition's mark does not name its primary.
 */
export async function flushLane(
  dependencies: LaneDependencies,
  { lane, lanes, watermarkMs, startAt, ...run }: LaneRun,
): Promise<LaneSum> {
  const { hot, losses, recovery } = dependencies;
  const { dueBeforeMs, flushDelayMs } = run;
  const [{ topology, era }, registered] = await Promise.all([losses.lookAndRecord(), recovery.registered()]);
  const partitions = registered.filter((ref) => laneOf(ref, lanes) === lane);

  const due: PartitionRef[] = [];
  const waiting: FlushSum[] = [];
  /**
   * Surveys partitions. Returns the partitions about which the survey gives no information, for example because their
   * mark is missing or wrong.
   */
  const survey = async (refs: readonly PartitionRef[]) => {
    const surveys = await hot.marks.survey(refs, flushDelayMs, topology.isMoving ? undefined : era?.number);
    return refs.filter((ref, i) => {
      const found = surveys[i];
      if (found === undefined) return true;
      if (found.dueMs !== undefined && found.dueMs <= dueBeforeMs) due.push(ref);
      else waiting.push(waitingPartition(found));
      return false;
    });
  };
  let unsure = await survey(partitions);
  if (unsure.length > 0) {
    // Resolving one partition is enough: if memory was lost, LossWatch records the loss for all affected partitions.
    await resolveOne(dependencies, unsure);
    unsure = await survey(unsure);
  }
  const flushed = await ofLivingTenants(dependencies, [...rotate(due, startAt), ...unsure]);
  const sum = sumFlushes([...waiting, ...(await flushPartitions(dependencies, flushed, run))]);
  // While hash slots move between primaries, a survey may miss keys of a partition.
  const isSteady = !topology.isMoving && (await hot.nodes.topology()).text === topology.text;
  // Samples that were appended after the survey arrived in the stream at the watermark or later.
  const lowestArrivalMs = isSteady ? Math.min(sum.lowestArrivalMs, watermarkMs) : 0;
  return { ...sum, lowestArrivalMs, partitions };
}

/**
 * Resolves the missing or wrong mark of one of these partitions. If memory was lost, the loss is recorded for all
 * partitions with missing or wrong marks.
 */
async function resolveOne(
  { losses, tenants }: LaneDependencies,
  refs: readonly PartitionRef[],
): Promise<void> {
  for (const ref of refs) {
    if (await tenants.isDeleted(ref.tenantId)) continue;
    // Ignore the error: if the node does not respond, the flush of the partition fails too, and reports the reason.
    await losses.resolve(ref).catch(() => {});
    return;
  }
}

/** Filters out the partitions of deleted tenants. While a tenant is being erased, nothing may be written for it. */
async function ofLivingTenants(
  { tenants }: LaneDependencies,
  refs: readonly PartitionRef[],
): Promise<PartitionRef[]> {
  const ids = [...new Set(refs.map(({ tenantId }) => tenantId))];
  const isDeleted = await mapLimited(ids, TENANTS_READ_AT_ONCE, (id) => tenants.isDeleted(id));
  const deleted = new Set(ids.filter((_, i) => isDeleted[i]));
  return refs.filter(({ tenantId }) => !deleted.has(tenantId));
}
