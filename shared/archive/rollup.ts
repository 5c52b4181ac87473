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
 * Rolls archived days up to hours and days, and dense groups to minutes. A rollup is a function of committed objects of the
 * archive, never a running sum, so a replay cannot count twice (DESIGN.md, rule 2).
 */

export interface RollupDependencies {
  readonly cold: ColdTier;
  readonly catalogue: Catalogue;
  readonly manifest: Manifest;
  /** Undefined: the stage stores none. Those that it has stay. */
  readonly rollups: RollupDirectory | undefined;
}

type SpanDependencies = RollupDependencies & { readonly rollups: RollupDirectory };

export interface RollupTask {
  /** Asked before each span, and before each few groups of one. */
  readonly hasTime: () => boolean;
  /** Told of every failure, of a span by its name, or of a partition's `plan`; all else goes on. */
  readonly onFailure: (ref: PartitionRef, subject: string, error: Error) => void;
  /** @default DENSE_SAMPLES */
  readonly denseSamples?: number;
}

/** The result of a slice of rolling up; the next slice goes on. */
export interface RollupCount {
  /** Spans of partitions that were written. */
  readonly rolledUp: number;
  /** Spans that failed, or that time was up for, and partitions whose spans could not be planned. */
  readonly left: number;
}

/** An object ends with the source that takes it to so many bytes. It is held in memory, as is the one that it replaces. */
const PART_BYTES = 64 * 1024 * 1024;
/** Partitions whose days and rollups are looked at side by side. */
const LOOKS = 16;
/** Groups aggregated side by side, and held before they are written: minutes of 256 series take 20 MB. */
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
        // An object that was replaced meanwhile is another day's work.
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
  return planSpans(days, states, rollups.unitsMs, denseSamples);
}

/**
 * Writes the objects of a span, lists them, then commits them. After a crash at any step the span is written again. Committed
 * objects of a span that goes are removed before the commit: afterwards nobody looks at it.
 *
 * @returns false when time was up, or another archiver came first
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
  let writer = new RollupWriter(span.unitMs);
  let firstGroup: GroupId | undefined;
  const endPart = async () => {
    if (firstGroup === undefined) return;
    const { bytes, listed } = writer.finish();
    const key = bucketKeys.rollup(ref, span.name, revision, parts.length);
    const etag = await cold.put(key, bytes);
    await rollups.put(ref.tenantId, span, { key, etag }, listed, [...excluded, ...sparse]);
    parts.push({ key, firstGroup });
    writer = new RollupWriter(span.unitMs);
    firstGroup = undefined;
  };

  if (plan.closed !== undefined) {
    const days = new DayObjects(cold);
    if (span.unitMs === MINUTE_MS)
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
    // Both have listed objects of one name: whichever lies there now, a third time settles it.
    await rollups.reopen(ref, span);
    return false;
  }
  await sweepSpan(cold, ref, span, next);
  return true;
}

/**
 * Removes the objects of a span that a commit replaced, or that earlier attempts left. Those of an attempt that may still be
 * committed bear a higher revision. What a crash leaves goes when the span is written the next time, or goes itself.
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
 * Every group of a span that has units, ascending; undefined for one that cannot be rolled up.
 *
 * @param oldSources gets the sources of the old objects, and the keys of these
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
  const batch = span.unitMs === MINUTE_MS ? MINUTES_BATCH : BATCH;
  /** Reads of the old objects; where one is lost, the span is made from the archive alone. */
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
