import type { Catalogue } from '../catalogue/catalogue';
import { CorruptArchiveError } from '../cold/archive-format';
import { type ColdTier, ObjectGoneError } from '../cold/cold-tier';
import type { Manifest, ManifestDay } from '../cold/manifest';
import { NO_STATE, type RollupDirectory, type SpanState } from '../cold/rollup-directory';
import type { MadeGroup } from '../cold/rollup-format';
import { RollupObject } from '../cold/rollup-object';
import type { RollupSpan } from '../cold/rollup-span';
import { RollupWriter } from '../cold/rollup-writer';
import type { Id } from '../model/id';
import { type GroupId, type PartitionRef, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { bucketKeys } from '../platform/keys';
import { DayObjects } from './day-objects';
import { makeGroup } from './roll-up-group';
import { planSpans, type SpanPlan, type SpanRemoval } from './rollup-plan';

/**
 * Rolls up archived days: aggregates the samples of each series by hour and by day. A rollup is always computed from
 * committed archive objects. It is never a running sum, to which a replay could add a sample twice (DESIGN.md, rule 2).
 */

export interface RollupDependencies {
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  /** Undefined if the stage stores no rollups. Existing rollups then stay unchanged. */
  readonly rollups: RollupDirectory | undefined;
}

type SpanDependencies = RollupDependencies & { readonly rollups: RollupDirectory };

export interface RollupRun {
  /** Called before each partition, before each span, and before each group of a span. False ends the run. */
  readonly hasTime: () => boolean;
  /**
   * Called for every failure. `subject` is the span's name, or `plan` if planning failed for the partition.
   * The run continues with the other spans.
   */
  readonly onFailure: (ref: PartitionRef, subject: string, error: Error) => void;
}

/** The result of one run. A run has limited time. The next run does the remaining work. */
export interface RollupCount {
  /** Number of spans of partitions whose rollups were written or removed. */
  readonly rolledUp: number;
  /**
   * Number of spans that failed or for which no time was left, plus the number of partitions that could not be planned.
   */
  readonly left: number;
}

/**
 * Once a rollup object has this size, in bytes, it ends with the current source. It can therefore exceed this size. The
 * limit exists because memory holds both the new object and the object that it replaces.
 */
export const ROLLUP_OBJECT_BYTES = 64 * 1024 * 1024;
/** Maximum number of partitions whose days and rollups are checked at the same time. */
const PARTITIONS_AT_ONCE = 16;
/** Maximum number of groups that are aggregated at the same time. */
const PARALLEL = 8;
/** Maximum number of groups held until they are written. */
const GROUPS_AT_ONCE = 4 * PARALLEL;

/**
 * Whether rollups of a partition are out of date. If their states cannot be read, the answer is yes:
 * {@link rollUpPartitions} then reports the error, and the archiving goes on.
 *
 * @param days all days in the partition's manifest
 */
export async function mustRollUp(
  { rollups }: Pick<RollupDependencies, 'rollups'>,
  ref: PartitionRef,
  days: readonly ManifestDay[],
): Promise<boolean> {
  if (rollups === undefined) return false;
  try {
    return planSpans(days, await rollups.states(ref)).length > 0;
  } catch {
    return true;
  }
}

/** Brings the rollups of partitions up to date with the manifest. Repeating the call is safe. */
export async function rollUpPartitions(
  dependencies: RollupDependencies,
  partitions: readonly PartitionRef[],
  run: RollupRun,
): Promise<RollupCount> {
  const { hasTime, onFailure } = run;
  const { manifest, rollups } = dependencies;
  const count = { rolledUp: 0, left: 0 };
  if (rollups === undefined) return count;
  const planned = await mapLimited(partitions, PARTITIONS_AT_ONCE, async (ref) => {
    if (!hasTime()) return { ref, plans: [] };
    try {
      return { ref, plans: await plansOf(manifest, rollups, ref) };
    } catch (error) {
      count.left++;
      onFailure(ref, 'plan', error as Error);
      return { ref, plans: [] };
    }
  });
  for (const { ref, plans } of planned) {
    for (const plan of plans) {
      let isDone = false;
      try {
        isDone = hasTime() && (await rewriteSpan({ ...dependencies, rollups }, ref, plan, hasTime));
      } catch (error) {
        // The object was removed while it was being read; the next pass retries.
        if (!(error instanceof ObjectGoneError)) onFailure(ref, plan.span.name, error as Error);
      }
      if (isDone) count.rolledUp++;
      else count.left++;
    }
  }
  return count;
}

async function plansOf(
  manifest: Manifest,
  rollups: RollupDirectory,
  ref: PartitionRef,
): Promise<(SpanPlan | SpanRemoval)[]> {
  const [days, states] = await Promise.all([
    manifest.days(ref, '1970-01-01', '9999-12-31'),
    rollups.states(ref),
  ]);
  return planSpans(days, states);
}

/**
 * Writes the objects of a span, lists them in the rollup directory, then commits them. After a crash at any step, the
 * next run writes the span again. When a span is removed, its objects are removed before the commit, because no run
 * looks at the span again once its removal is committed.
 *
 * @returns false if time was up, or another archiver committed first
 */
async function rewriteSpan(
  dependencies: SpanDependencies,
  ref: PartitionRef,
  plan: SpanPlan | SpanRemoval,
  hasTime: () => boolean,
): Promise<boolean> {
  const { cold, rollups } = dependencies;
  const { span, previous, state } = plan;
  const revision = state.revision + 1;
  const parts: SpanState['parts'][number][] = [];
  const excluded = new Set(plan.closed === undefined ? [] : state.excluded);
  const oldSources = new Map<Id, string>();
  let writer = new RollupWriter(span.grainMs);
  let firstGroup: GroupId | undefined;
  const endPart = async () => {
    if (firstGroup === undefined) return;
    const { bytes, listed } = writer.finish();
    const key = bucketKeys.rollup(ref, span.name, revision, parts.length);
    const etag = await cold.put(key, bytes);
    await rollups.put(ref.tenantId, span, { key, etag }, listed, excluded);
    parts.push({ key, firstGroup });
    writer = new RollupWriter(span.grainMs);
    firstGroup = undefined;
  };

  if (plan.closed !== undefined) {
    const days = new DayObjects(cold);
    const made = groupsOf(dependencies, ref, plan, days, oldSources);
    const listed = new Set<Id>();
    let last: GroupId | undefined;
    for await (const { group, rolled } of made) {
      if (!hasTime()) return false;
      if (rolled === undefined) excluded.add(group);
      else {
        const isNewSource = last === undefined || sourceIdOfGroup(last) !== sourceIdOfGroup(group);
        if (isNewSource && writer.byteLength >= ROLLUP_OBJECT_BYTES) await endPart();
        firstGroup ??= group;
        writer.addGroup(group, rolled);
        last = group;
        listed.add(sourceIdOfGroup(group));
      }
    }
    await endPart();
    await rollups.remove(
      ref.tenantId,
      span,
      [...oldSources].filter(([sourceId]) => !listed.has(sourceId)),
    );
  } else await sweepSpan(cold, ref, span, { revision: state.revision, parts });
  const days = Object.fromEntries(
    (plan.closed ?? []).map(({ day, archived: { identity, announcements } }) => [
      day,
      [identity, announcements] as const,
    ]),
  );
  const next =
    plan.closed === undefined
      ? { ...NO_STATE, revision }
      : { revision, days, parts, excluded: [...excluded] };
  if (!(await rollups.commit(ref, span, previous, next))) {
    // Another archiver has written objects with the same keys. It is not known which archiver's objects are stored now,
    // so the span must be written again.
    await rollups.reopen(ref, span);
    return false;
  }
  await sweepSpan(cold, ref, span, next);
  return true;
}

/**
 * Removes the objects of a span that the span's state does not name: objects that a commit replaced, and leftovers of
 * earlier attempts. Keeps objects of a higher revision than the state's, because they belong to attempts that may still
 * be committed. After a crash, the next rewrite or removal of the span removes the rest.
 */
async function sweepSpan(
  cold: ColdTier,
  ref: PartitionRef,
  { name }: RollupSpan,
  { revision, parts }: Pick<SpanState, 'revision' | 'parts'>,
): Promise<void> {
  const named = new Set(parts.map(({ key }) => key));
  for (const key of await cold.listRollups(ref, name))
    if (!named.has(key) && bucketKeys.parseRollupRevision(key) <= revision) await cold.remove(key);
}

/**
 * Yields every group that has samples in a span, in ascending order, with its new rollup. Skips groups that
 * the span's state already excludes. `rolled` is undefined if the group cannot be rolled up.
 *
 * @param oldSources receives, for each source id, the key of the old object that contains the source
 */
async function* groupsOf(
  { cold, catalogue, rollups }: SpanDependencies,
  ref: PartitionRef,
  plan: SpanPlan,
  days: DayObjects,
  oldSources: Map<Id, string>,
): AsyncGenerator<{ readonly group: GroupId; readonly rolled: MadeGroup | undefined }> {
  const { span, state, closed } = plan;
  const changed = closed.filter(({ day, archived: { identity } }) => state.days[day]?.[0] !== identity);
  const inDays = new Set<GroupId>();
  for (const day of changed) for (const group of await days.groups(day)) inDays.add(group);
  const excluded = new Set(state.excluded);
  /**
   * Calls `read`, which reads from an old object. If the object is missing or corrupt, makes the next run compute the
   * whole span from samples.
   */
  const readOld = async <T>(read: () => Promise<T | undefined>): Promise<T | undefined> => {
    const found = await read().catch((error) => {
      if (error instanceof CorruptArchiveError) return undefined;
      throw error;
    });
    if (found !== undefined || Object.keys(state.days).length === 0) return found;
    await rollups.reopen(ref, span);
    throw new ObjectGoneError(`a rollup of ${span.name} is lost`);
  };
  const { parts } = state;
  for (let i = 0; i < Math.max(1, parts.length); i++) {
    const part = parts[i];
    const old =
      part &&
      (await readOld(async () => {
        const bytes = await cold.bytes(part.key);
        return bytes && new RollupObject(bytes);
      }));
    const fromGroup = i === 0 ? '' : part!.firstGroup;
    const toGroup = parts[i + 1]?.firstGroup;
    const oldGroups = new Set(old?.groupIds);
    for (const group of oldGroups) oldSources.set(sourceIdOfGroup(group), part!.key);
    const ordered = [...new Set([...oldGroups, ...inDays])]
      .filter((group) => !excluded.has(group))
      .filter((group) => group >= fromGroup && (toGroup === undefined || group < toGroup))
      .sort();
    for (let at = 0; at < ordered.length; at += GROUPS_AT_ONCE) {
      const made = await mapLimited(ordered.slice(at, at + GROUPS_AT_ONCE), PARALLEL, async (group) => {
        const deletions = await catalogue.deletions.of(ref.tenantId, sourceIdOfGroup(group));
        const before = oldGroups.has(group) ? await readOld(() => old!.group(group)) : undefined;
        return { group, rolled: await makeGroup(group, plan, before, days, deletions) };
      });
      for (const { group, rolled } of made)
        if (rolled !== 'nothing') yield { group, rolled: rolled === 'excluded' ? undefined : rolled };
    }
  }
}
