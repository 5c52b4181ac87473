import type { Catalogue } from '../catalogue/catalogue';
import { CorruptArchiveError } from '../cold/archive-format';
import { type ColdTier, ObjectChangedError } from '../cold/cold-tier';
import type { Manifest } from '../cold/manifest';
import { NO_STATE, type RollupDirectory, type SpanState } from '../cold/rollup-directory';
import { type MadeGroup, OpenRollup, RollupWriter } from '../cold/rollup-format';
import type { RollupSpan } from '../cold/rollup-span';
import { MINUTE_MS } from '../model/aggregates';
import type { Id } from '../model/id';
import { type GroupId, type PartitionRef, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { bucketKeys } from '../platform/keys';
import { DayObjects } from './day-objects';
import { makeGroup } from './roll-up-group';
import { DENSE_SAMPLES, planSpans, type SpanPlan, type SpanRemoval } from './rollup-plan';

/**
 * Rolls archived days up to hours and days, and dense groups also to minutes. A rollup is computed from
 * committed archive objects, and never a running sum, so a replay cannot be counted twice (DESIGN.md, rule
 * 2).
 */

export interface RollupDependencies {
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  /** Undefined when the stage stores no rollups. Existing rollups are kept. */
  readonly rollups: RollupDirectory | undefined;
}

type SpanDependencies = RollupDependencies & { readonly rollups: RollupDirectory };

export interface RollupTask {
  /** Asked before each span, and before each batch of groups within a span. */
  readonly hasTime: () => boolean;
  /**
   * Called for every failure. `subject` is the span's name, or `plan` when a partition could not be planned.
   * Other spans go on.
   */
  readonly onFailure: (ref: PartitionRef, subject: string, error: Error) => void;
  /** @default DENSE_SAMPLES */
  readonly denseSamples?: number;
}

/** The result of one run of the rollup, which is limited in time. The next run does what is left. */
export interface RollupCount {
  /** Spans of partitions that were written. */
  readonly rolledUp: number;
  /** Spans that failed or had no time, and partitions that could not be planned. */
  readonly left: number;
}

/**
 * Size at which an object ends, after the source that exceeds it. The new object and the one that it replaces
 * are held in memory.
 */
const PART_BYTES = 64 * 1024 * 1024;
/** Partitions whose days and rollups are checked at the same time. */
const LOOKS = 16;
/**
 * Groups that are aggregated at the same time. A batch is held in memory until it is written; the minutes of
 * 256 series take 20 MB.
 */
const PARALLEL = 8;
const BATCH = 4 * PARALLEL;
const MINUTES_BATCH = 4;

/** Brings the rollups of partitions up to date with the manifest. Idempotent. */
export async function rollUpPartitions(
  dependencies: RollupDependencies,
  partitions: readonly PartitionRef[],
  task: RollupTask,
): Promise<RollupCount> {
  const { hasTime, onFailure, denseSamples = DENSE_SAMPLES } = task;
  const { manifest, rollups } = dependencies;
  const count = { rolledUp: 0, left: 0 };
  if (rollups === undefined) return count;
  const planned = await mapLimited(partitions, LOOKS, async (ref) => {
    if (!hasTime()) return { ref, plans: [] };
    try {
      return { ref, plans: await plansOf(manifest, rollups, ref, denseSamples) };
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
        isDone =
          hasTime() && (await rewriteSpan({ ...dependencies, rollups }, ref, plan, denseSamples, hasTime));
      } catch (error) {
        // The object was replaced while it was being read; the next pass retries.
        if (!(error instanceof ObjectChangedError)) onFailure(ref, plan.span.name, error as Error);
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
  denseSamples: number,
): Promise<(SpanPlan | SpanRemoval)[]> {
  const [days, states] = await Promise.all([
    manifest.days(ref, '1970-01-01', '9999-12-31'),
    rollups.states(ref),
  ]);
  return planSpans(days, states, rollups.grainsMs, denseSamples);
}

/**
 * Writes the objects of a span, lists them in the directory, then commits them. After a crash at any step,
 * the span is written again. If a span is removed, its objects are removed before the commit, since nobody
 * checks the span afterwards.
 *
 * @returns false when time was up or another archiver came first
 */
async function rewriteSpan(
  dependencies: SpanDependencies,
  ref: PartitionRef,
  plan: SpanPlan | SpanRemoval,
  denseSamples: number,
  hasTime: () => boolean,
): Promise<boolean> {
  const { cold, rollups } = dependencies;
  const { span, previous, state } = plan;
  const revision = state.revision + 1;
  const parts: SpanState['parts'][number][] = [];
  const excluded = new Set(plan.closed === undefined ? [] : plan.copied.excluded);
  const sparse = new Set<GroupId>();
  const oldSources = new Map<Id, string>();
  let writer = new RollupWriter(span.grainMs);
  let firstGroup: GroupId | undefined;
  const endPart = async () => {
    if (firstGroup === undefined) return;
    const { bytes, listed } = writer.finish();
    const key = bucketKeys.rollup(ref, span.name, revision, parts.length);
    const etag = await cold.put(key, bytes);
    await rollups.put(ref.tenantId, span, { key, etag }, listed, [...excluded, ...sparse]);
    parts.push({ key, firstGroup });
    writer = new RollupWriter(span.grainMs);
    firstGroup = undefined;
  };

  if (plan.closed !== undefined) {
    const days = new DayObjects(cold);
    if (span.grainMs === MINUTE_MS)
      for (const day of plan.closed)
        for (const group of await days.sparseGroups(day, denseSamples)) sparse.add(group);
    const made = groupsOf(dependencies, ref, plan, days, sparse, oldSources);
    const listed = new Set<Id>();
    let last: GroupId | undefined;
    for await (const { group, rolled } of made) {
      if (!hasTime()) return false;
      if (rolled === undefined) excluded.add(group);
      else {
        const isNewSource = last === undefined || sourceIdOfGroup(last) !== sourceIdOfGroup(group);
        if (isNewSource && writer.byteLength >= PART_BYTES) await endPart();
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
    (plan.closed ?? []).map(({ day, archived: { identity, changes } }) => [
      day,
      [identity, changes] as const,
    ]),
  );
  const next =
    plan.closed === undefined
      ? { ...NO_STATE, revision }
      : { revision, days, parts, excluded: [...excluded] };
  if (!(await rollups.commit(ref, span, previous, next))) {
    // Both archivers have listed objects with the same keys, and it is unknown whose are stored. Making the
    // span again resolves that.
    await rollups.reopen(ref, span);
    return false;
  }
  await sweepSpan(cold, ref, span, next);
  return true;
}

/**
 * Removes objects of a span that a commit replaced or that earlier attempts left. Spares objects with a
 * higher revision: they belong to attempts that may still be committed. After a crash, the rest is removed
 * when the span is next rewritten or removed.
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
 * Yields every group of a span that has grains, in ascending order; `rolled` is undefined if the group cannot
 * be rolled up.
 *
 * @param oldSources receives each source of the old objects, with the key of its object
 */
async function* groupsOf(
  { cold, catalogue, rollups }: SpanDependencies,
  ref: PartitionRef,
  plan: SpanPlan,
  days: DayObjects,
  sparse: ReadonlySet<GroupId>,
  oldSources: Map<Id, string>,
): AsyncGenerator<{ readonly group: GroupId; readonly rolled: MadeGroup | undefined }> {
  const { span, copied, closed } = plan;
  const changed = closed.filter(({ day, archived: { identity } }) => copied.days[day]?.[0] !== identity);
  const inDays = new Set<GroupId>();
  for (const day of changed) for (const group of await days.groups(day)) inDays.add(group);
  const excluded = new Set([...copied.excluded, ...sparse]);
  const batch = span.grainMs === MINUTE_MS ? MINUTES_BATCH : BATCH;
  /** Reads an old object. If it is lost, schedules the span to be made from the archive alone. */
  const readOld = async <T>(read: () => Promise<T | undefined>): Promise<T | undefined> => {
    const found = await read().catch((error) => {
      if (error instanceof CorruptArchiveError) return undefined;
      throw error;
    });
    if (found !== undefined || Object.keys(copied.days).length === 0) return found;
    await rollups.reopen(ref, span);
    throw new ObjectChangedError(`a rollup of ${span.name} is lost`);
  };
  const { parts } = copied;
  for (let i = 0; i < Math.max(1, parts.length); i++) {
    const part = parts[i];
    const old =
      part &&
      (await readOld(async () => {
        const bytes = await cold.bytes(part.key);
        return bytes && new OpenRollup(bytes);
      }));
    const fromGroup = i === 0 ? '' : part!.firstGroup;
    const toGroup = parts[i + 1]?.firstGroup;
    const oldGroups = new Set(old?.groupIds);
    for (const group of oldGroups) oldSources.set(sourceIdOfGroup(group), part!.key);
    const ordered = [...new Set([...oldGroups, ...inDays])]
      .filter((group) => !excluded.has(group))
      .filter((group) => group >= fromGroup && (toGroup === undefined || group < toGroup))
      .sort();
    for (let at = 0; at < ordered.length; at += batch) {
      const made = await mapLimited(ordered.slice(at, at + batch), PARALLEL, async (group) => {
        const deletions = await catalogue.deletions.of(ref.tenantId, sourceIdOfGroup(group));
        const before = oldGroups.has(group) ? await readOld(() => old!.group(group)) : undefined;
        return { group, rolled: await makeGroup(group, plan, before, days, deletions) };
      });
      for (const { group, rolled } of made)
        if (rolled !== 'nothing') yield { group, rolled: rolled === 'excluded' ? undefined : rolled };
    }
  }
}
