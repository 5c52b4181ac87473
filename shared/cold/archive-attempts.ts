import { DAY_MS } from '../model/duration';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { deleteItem, deleteItemIf, getItem, putItemIf, type Table } from '../platform/table';
import type { ArchivedPart } from './archived-day';

/** An unfinished attempt to archive a day. An attempt may take several invocations. */
export interface Attempt {
  /** `ManifestDay.committed` when the attempt began. The attempt is void once another attempt commits. */
  readonly base: string | undefined;
  /**
   * The value of `ManifestDay.announcements` before the attempt read any of the day's data. The field is called
   * `changes` because attempts are stored as JSON, and stored attempts already use this name.
   */
  readonly changes: number;
  /** The parts written so far, in order. Some may be unchanged parts of `base`. */
  readonly parts: readonly ArchivedPart[];
  /** All groups before this one are in `parts`. */
  readonly nextGroup: GroupId;
}

/**
 * An attempt, and its stored text when it was read. {@link ArchiveAttempts.save} replaces the stored text only if it
 * has not changed since.
 */
export interface StoredAttempt {
  readonly attempt: Attempt;
  readonly stored: string;
}

/**
 * Time to live of an unfinished attempt, in ms. When it ends, the archiver archives the day from the beginning, and the
 * next commit removes the attempt's objects.
 */
const ATTEMPT_KEPT_MS = 30 * DAY_MS;

/**
 * The unfinished attempts to archive days, in the meta table.
 *
 *     pk archiving#tenant#partition  sk day   attempt: JSON   expiresAt: seconds
 */
export class ArchiveAttempts {
  constructor(private readonly table: Table) {}

  /** Reads the unfinished attempt to archive a day. */
  async get(ref: PartitionRef, day: Day): Promise<StoredAttempt | undefined> {
    const item = await getItem(this.table, metaKeys.archiving(ref, day));
    const stored = item?.attempt?.S;
    return stored === undefined ? undefined : { attempt: JSON.parse(stored) as Attempt, stored };
  }

  /**
   * Saves an attempt for the next invocation.
   *
   * @param previous the text to replace, {@link StoredAttempt.stored}; undefined if there was none
   * @returns the new stored text; undefined if another archiver saved first, in which case nothing was changed
   */
  async save(
    ref: PartitionRef,
    day: Day,
    previous: string | undefined,
    attempt: Attempt,
    nowMs: number,
  ): Promise<string | undefined> {
    const stored = JSON.stringify(attempt);
    const isSaved = await putItemIf(this.table, {
      Item: {
        ...metaKeys.archiving(ref, day),
        attempt: { S: stored },
        expiresAt: { N: String(Math.ceil((nowMs + ATTEMPT_KEPT_MS) / 1000)) },
      },
      // Accept an equal text too: if the reply to this request was lost, its retry finds the text stored.
      ConditionExpression: `${previous === undefined ? 'attribute_not_exists(pk)' : 'attempt = :previous'} OR attempt = :stored`,
      ExpressionAttributeValues: {
        ':stored': { S: stored },
        ...(previous === undefined ? {} : { ':previous': { S: previous } }),
      },
    });
    return isSaved ? stored : undefined;
  }

  /** Removes the attempt to archive a day, when the day itself is being removed. */
  async remove(ref: PartitionRef, day: Day): Promise<void> {
    await deleteItem(this.table, metaKeys.archiving(ref, day));
  }

  /** Removes an attempt, unless another archiver has changed its stored text. */
  async end(ref: PartitionRef, day: Day, stored: string): Promise<void> {
    await deleteItemIf(this.table, {
      Key: metaKeys.archiving(ref, day),
      ConditionExpression: 'attempt = :stored',
      ExpressionAttributeValues: { ':stored': { S: stored } },
    });
  }
}
