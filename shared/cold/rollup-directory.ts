import { DAY_MS, HOUR_MS } from '../model/duration';
import type { Id } from '../model/id';
import { type Day, type GroupId, type PartitionRef, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import {
  deleteItemIf,
  getItem,
  type Item,
  putItem,
  queryItems,
  type Table,
  updateItemIf,
} from '../platform/table';
import type { ListedRollup } from './rollup-format';
import { type RollupSpan, SpanDays, spanOf } from './rollup-span';

/** The directory entry of a source for the rollups of a span. */
export interface RolledSource {
  readonly span: RollupSpan;
  /** The object's key and ETag. */
  readonly key: string;
  readonly etag: string;
  /**
   * The archived state of each day from which the rollup was made. The rollup is exact for a day as long as the day's
   * state still has the same identity.
   */
  readonly days: SpanDays;
  /** See {@link deletionsKey}. */
  readonly deletions: string;
  readonly groups: readonly ListedRollup[];
  /** Groups that may have samples, but have no grains in the object: see {@link SpanState.excluded}. */
  readonly excluded: readonly GroupId[];
}

/** The rollup objects of a partition's span, and the archived days from which they were made. */
export interface SpanState {
  /** Increases with each rewrite. */
  readonly revision: number;
  /** For each day that was rolled up: the identity of its archived state, and its `announcements`. */
  readonly days: Readonly<Record<Day, readonly [identity: string, announcements: number]>>;
  /** Ordered by group. */
  readonly parts: readonly { readonly key: string; readonly firstGroup: GroupId }[];
  /** Groups without rollups, because they have too many series in the span. */
  readonly excluded: readonly GroupId[];
}

export const NO_STATE: SpanState = { revision: 0, days: {}, parts: [], excluded: [] };

/** Maximum size of an entry, in bytes. A larger entry is stored empty, and reads use samples instead. */
const MAX_ENTRY_BYTES = 64 * 1024;
/**
 * How long the table keeps the revision of a removed span, in ms. This is longer than any run of an archiver, so an
 * archiver that began before the removal still finds the revision.
 */
const REMOVED_MS = DAY_MS;
const PARALLEL = 32;

/**
 * The directory of rollups. For each source and span, it holds the location of the source's grains, and the archived
 * states from which they were made. An entry is valid for a day only while the manifest has the state that the entry
 * names (DESIGN.md, "Rollups").
 *
 *     pk rolled#tenant#source      sk hours#month, days#year   key, etag, deletions: text   days: bytes
 *                                                              groups, omitted: JSON   directories: list of bytes
 *                                                              expiresAt: seconds
 *     pk rollups#tenant#partition  sk hours#month, days#year   state: JSON   expiresAt: seconds, once the span has no day
 */
export class RollupDirectory {
  /** @param ttlMs time to live of a source's entry */
  constructor(
    private readonly table: Table,
    private readonly ttlMs: number,
  ) {}

  /**
   * Writes the directory entries for the groups of an object. The groups are in order, each with the days and deletions
   * from which it was made.
   *
   * @param excluded groups that have samples in the span, but no grains in any rollup object
   */
  async put(
    tenantId: Id,
    span: RollupSpan,
    { key, etag }: { readonly key: string; readonly etag: string },
    groups: readonly ListedRollup[],
    excluded: Iterable<GroupId>,
  ): Promise<void> {
    const expiresAt = this.expiry(this.ttlMs);
    const items: Item[] = [];
    const excludedOf = Map.groupBy(excluded, sourceIdOfGroup);
    for (const [sourceId, own] of Map.groupBy(groups, ({ group }) => sourceIdOfGroup(group))) {
      const [{ days, deletions }] = own as [ListedRollup];
      const isUniform = own.every((each) => each.days.equals(days) && each.deletions === deletions);
      const entries = JSON.stringify(
        own.map(({ group, layout, layoutRange, offsets }) => ({ group, layout, layoutRange, offsets })),
      );
      const withoutGrains = JSON.stringify(excludedOf.get(sourceId) ?? []);
      const bytes =
        entries.length + withoutGrains.length + own.reduce((sum, { directory }) => sum + directory.length, 0);
      const isListed = isUniform && bytes <= MAX_ENTRY_BYTES;
      items.push({
        ...metaKeys.rolled(tenantId, sourceId, sortOf(span)),
        key: { S: key },
        etag: { S: etag },
        deletions: { S: deletions },
        // An entry without days is not valid for any day.
        days: { B: isListed ? days : new SpanDays(span).bytes },
        groups: { S: isListed ? entries : '[]' },
        omitted: { S: isListed ? withoutGrains : '[]' },
        directories: { L: isListed ? own.map(({ directory }) => ({ B: directory })) : [] },
        expiresAt,
      });
    }
    await mapLimited(items, PARALLEL, (item) => putItem(this.table, item));
  }

  /**
   * Removes the entries of sources that no longer have grains in a span.
   *
   * @param keys for each source, the key of the object that is being removed. An entry with another key is kept,
   *   because it belongs to another partition
   */
  async remove(tenantId: Id, span: RollupSpan, keys: readonly (readonly [Id, string])[]): Promise<void> {
    await mapLimited(keys, PARALLEL, ([sourceId, key]) =>
      deleteItemIf(this.table, {
        Key: metaKeys.rolled(tenantId, sourceId, sortOf(span)),
        ConditionExpression: '#key = :key',
        ExpressionAttributeNames: { '#key': 'key' },
        ExpressionAttributeValues: { ':key': { S: key } },
      }),
    );
  }

  /** Reads a source's entries for one grain length, in all spans that contain a day from `fromDay` to `toDay`. */
  async of(
    tenantId: Id,
    sourceId: Id,
    grainMs: number,
    fromDay: Day,
    toDay: Day,
  ): Promise<Map<string, RolledSource>> {
    const items = await queryItems(this.table, {
      pk: metaKeys.rolledOf(tenantId, sourceId),
      from: sortOf(spanOf(grainMs, fromDay)),
      to: sortOf(spanOf(grainMs, toDay)),
    });
    return new Map(
      items.map((item) => {
        const source = rolledSourceOf(item, grainMs);
        return [source.span.name, source];
      }),
    );
  }

  /**
   * Reads the states of a partition's spans, keyed by sort key. Each state is a string, which {@link commit} compares
   * with the stored one.
   */
  async states(ref: PartitionRef): Promise<Map<string, string>> {
    const items = await queryItems(this.table, { pk: metaKeys.rollupsOf(ref) });
    return new Map(items.map(({ sk, state }) => [sk!.S!, state!.S!]));
  }

  /**
   * Commits the new state of a rewritten span.
   *
   * @param previous the state that {@link states} returned
   * @returns false if another archiver committed first, in which case nothing was changed
   */
  async commit(
    ref: PartitionRef,
    span: RollupSpan,
    previous: string | undefined,
    state: SpanState,
  ): Promise<boolean> {
    const isNone = isRemoved(state);
    return updateItemIf(this.table, {
      Key: metaKeys.rollup(ref, sortOf(span)),
      UpdateExpression: isNone ? 'SET #state = :new, expiresAt = :end' : 'SET #state = :new REMOVE expiresAt',
      ConditionExpression: previous === undefined ? 'attribute_not_exists(#state)' : '#state = :old',
      ExpressionAttributeNames: { '#state': 'state' },
      ExpressionAttributeValues: {
        ':new': { S: JSON.stringify(state) },
        ...(previous === undefined ? {} : { ':old': { S: previous } }),
        ...(isNone && { ':end': this.expiry(REMOVED_MS) }),
      },
    });
  }

  /** Makes the archiver rebuild a span from the archive. */
  async reopen(ref: PartitionRef, span: RollupSpan): Promise<void> {
    const Key = metaKeys.rollup(ref, sortOf(span));
    const item = await getItem(this.table, Key);
    const previous = item?.state?.S;
    if (previous === undefined) return;
    await this.commit(ref, span, previous, { ...(JSON.parse(previous) as SpanState), days: {} });
  }

  private expiry(ms: number): { readonly N: string } {
    return { N: String(Math.ceil((Date.now() + ms) / 1000)) };
  }
}

/** Whether a span has been removed. A removed span has neither days nor objects. */
export function isRemoved({ days, parts }: SpanState): boolean {
  return parts.length === 0 && Object.keys(days).length === 0;
}

function rolledSourceOf(item: Item, grainMs: number): RolledSource {
  const span = spanOf(grainMs, firstDayOf(item.sk!.S!));
  const days = Buffer.from(item.days!.B!);
  const groups: Omit<ListedRollup, 'directory' | 'days' | 'deletions'>[] = JSON.parse(item.groups!.S!);
  const deletions = item.deletions!.S!;
  return {
    span,
    key: item.key!.S!,
    etag: item.etag!.S!,
    days: new SpanDays(span, days),
    deletions,
    excluded: JSON.parse(item.omitted!.S!),
    groups: groups.map((group, i) => ({
      ...group,
      days,
      deletions,
      directory: item.directories!.L![i]!.B!,
    })),
  };
}

/** Returns the sort key of a span. The keys of one grain length sort by time. */
export function sortOf({ grainMs, name }: RollupSpan): string {
  return `${GRAIN_NAMES.get(grainMs)}#${name}`;
}

/** Parses a sort key made by {@link sortOf}. */
export function spanOfSort(sort: string): RollupSpan {
  const [grainMs] = [...GRAIN_NAMES].find(([, name]) => sort.startsWith(`${name}#`))!;
  return spanOf(grainMs, firstDayOf(sort));
}

const GRAIN_NAMES: ReadonlyMap<number, string> = new Map([
  [HOUR_MS, 'hours'],
  [DAY_MS, 'days'],
]);

function firstDayOf(sort: string): Day {
  return `${sort.split('#')[1]!}-01-01`.slice(0, 10);
}
