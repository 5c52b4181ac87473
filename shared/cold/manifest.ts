import type { Day, GroupId, PartitionRef } from '../model/placement';
import { SharedCalls } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import {
  deleteItemIf,
  getItem,
  type Item,
  queryItems,
  type Table,
  updateItem,
  updateItemIf,
} from '../platform/table';
import { ArchiveAttempts } from './archive-attempts';
import {
  type ArchivedDay,
  type ArchivedPart,
  type DayCommit,
  decodeArchived,
  encodeArchived,
} from './archived-day';

export interface ManifestDay {
  readonly day: Day;
  /** How many times flushes have announced the day. The table's attribute is called `changes`. */
  readonly announcements: number;
  readonly archived: ArchivedDay | undefined;
  /**
   * The text of `archived` that was stored at the time of the read. {@link Manifest.commit} succeeds only if the same
   * text is still stored, so that it does not overwrite another commit.
   */
  readonly committed?: string;
  /** Whether objects that the last commit replaced may still exist. */
  readonly isUnswept?: boolean;
}

/** Returns the day's parts that may contain samples of the groups. */
export function partsOf({ parts }: Pick<ArchivedDay, 'parts'>, groups: readonly GroupId[]): ArchivedPart[] {
  const requested = new Set(
    groups.map((group) =>
      Math.max(
        0,
        parts.findLastIndex((part) => part.firstGroup <= group),
      ),
    ),
  );
  return parts.filter((_, index) => requested.has(index));
}

export function sizeOf({ parts }: Pick<ArchivedDay, 'parts'>): {
  readonly bytes: number;
  readonly samples: number;
} {
  const sum = (of: (part: ArchivedPart) => number) => parts.reduce((total, part) => total + of(part), 0);
  return { bytes: sum(({ bytes }) => bytes), samples: sum(({ samples }) => samples) };
}

/** Whether a day may have data in the warm table that its objects lack. */
export function isOpen({ announcements, archived }: ManifestDay): boolean {
  return archived === undefined || archived.announcements !== announcements;
}

/**
 * The manifest lists, for each partition, the days that have data beyond memory, and the archive objects of those days.
 *
 * A flush announces a day before it writes to the day, and again before it trims memory. The archiver reads
 * the number of announcements before it reads the day, and commits that number. A flush in between therefore
 * leaves the day open (DESIGN.md, rule 12).
 *
 *     pk manifest#tenant#partition   sk day   changes: number   archived: text (archived-day.ts)   unswept: true
 *
 * The same table holds the unfinished attempts to archive days (archive-attempts.ts).
 */
export class Manifest {
  readonly attempts: ArchiveAttempts;
  private readonly dayQueries = new SharedCalls<readonly ManifestDay[]>();

  constructor(private readonly table: Table) {
    this.attempts = new ArchiveAttempts(table);
  }

  async announce(ref: PartitionRef, day: Day): Promise<void> {
    await updateItem(this.table, {
      Key: metaKeys.manifest(ref, day),
      UpdateExpression: 'ADD changes :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
    });
  }

  async get(ref: PartitionRef, day: Day): Promise<ManifestDay | undefined> {
    const item = await getItem(this.table, metaKeys.manifest(ref, day));
    return item && manifestDayOf(ref, item);
  }

  /**
   * Reads the entries of the days from `fromDay` to `toDay`, both inclusive, in ascending order. Concurrent callers
   * share the result.
   */
  days(ref: PartitionRef, fromDay: Day, toDay: Day): Promise<readonly ManifestDay[]> {
    const key = `${metaKeys.manifestDays(ref)} ${fromDay} ${toDay}`;
    return this.dayQueries.share(key, () => this.queryDays(ref, fromDay, toDay));
  }

  private async queryDays(ref: PartitionRef, fromDay: Day, toDay: Day): Promise<readonly ManifestDay[]> {
    const range = { pk: metaKeys.manifestDays(ref), from: fromDay, to: toDay };
    const attributes = { ProjectionExpression: 'sk, changes, archived, unswept' };
    const items = await queryItems(this.table, range, attributes);
    return items.map((item) => manifestDayOf(ref, item));
  }

  /**
   * Commits a day's objects.
   *
   * @param previous the value of {@link ManifestDay.committed} when the archiver began
   * @returns the new {@link ManifestDay.committed}; undefined if another archiver committed first, in which case
   *   nothing was changed
   */
  async commit(
    ref: PartitionRef,
    day: Day,
    previous: string | undefined,
    archived: DayCommit,
  ): Promise<string | undefined> {
    const committed = encodeArchived(ref, day, archived);
    const isDone = await updateItemIf(this.table, {
      Key: metaKeys.manifest(ref, day),
      UpdateExpression: 'SET archived = :new, unswept = :true',
      // Accept an equal value too: if the reply to this request was lost, its retry finds the value stored.
      ConditionExpression: `${previous === undefined ? 'attribute_not_exists(archived)' : 'archived = :old'} OR archived = :new`,
      ExpressionAttributeValues: {
        ':new': { S: committed },
        ':true': { BOOL: true },
        ...(previous === undefined ? {} : { ':old': { S: previous } }),
      },
    });
    return isDone ? committed : undefined;
  }

  /**
   * Removes the entry of a day that has no data left.
   *
   * @returns false if the day was announced again after `announcements` was read, in which case nothing was changed
   */
  async remove(ref: PartitionRef, day: Day, announcements: number): Promise<boolean> {
    return deleteItemIf(this.table, {
      Key: metaKeys.manifest(ref, day),
      // Accept a missing entry: if the reply to the first attempt was lost, the entry is gone when the retry runs.
      ConditionExpression: 'attribute_not_exists(pk) OR changes = :changes',
      ExpressionAttributeValues: { ':changes': { N: String(announcements) } },
    });
  }

  /** Records that all objects that a commit replaced have been removed. */
  async markSwept(ref: PartitionRef, day: Day, committed: string): Promise<void> {
    await updateItemIf(this.table, {
      Key: metaKeys.manifest(ref, day),
      UpdateExpression: 'REMOVE unswept',
      ConditionExpression: 'archived = :committed',
      ExpressionAttributeValues: { ':committed': { S: committed } },
    });
  }
}

function manifestDayOf(ref: PartitionRef, item: Item): ManifestDay {
  const day = item.sk!.S!;
  const committed = item.archived?.S;
  return {
    day,
    announcements: Number(item.changes?.N ?? 0),
    archived: committed === undefined ? undefined : decodeArchived(ref, day, committed),
    committed,
    ...(item.unswept?.BOOL ? { isUnswept: true } : {}),
  };
}

/** A group id that sorts before every other group id. */
export const FIRST_GROUP: GroupId = '';
