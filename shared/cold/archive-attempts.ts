import { DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../model/duration';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { succeeds, type Table } from '../platform/table';
import type { ArchivedPart } from './archived-day';

/** A day that is being archived, in several invocations if need be. */
export interface Attempt {
  /** `ManifestDay.committed` when it began: the attempt ends when another one commits. */
  readonly base: string | undefined;
  /** The day's `changes` before anything of it was read. */
  readonly changes: number;
  /** The parts so far, in order; some may be those of `base`. */
  readonly parts: readonly ArchivedPart[];
  /** The parts so far have all groups before this one. */
  readonly nextGroup: GroupId;
}

/** A stored attempt, and what names its state for {@link ArchiveAttempts.save}. */
export interface StoredAttempt {
  readonly attempt: Attempt;
  readonly stored: string;
}

/** An attempt that nobody goes on with is begun anew: its objects are swept by the next commit. */
const ATTEMPT_KEPT_MS = 30 * DAY_MS;

/**
 * The attempts to archive days that have not ended, in the meta table.
 *
 *     pk archiving#tenant#partition  sk day   attempt: JSON   expiresAt: seconds
 */
export class ArchiveAttempts {
  constructor(private readonly table: Table) {}

  /** The unfinished attempt to archive a day. */
  async get(ref: PartitionRef, day: Day): Promise<StoredAttempt | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.archiving(ref, day),
        ConsistentRead: true,
      }),
    );
    const stored = Item?.attempt?.S;
    return stored === undefined ? undefined : { attempt: JSON.parse(stored) as Attempt, stored };
  }

  /**
   * Keeps an attempt's state for the next invocation.
   *
   * @param previous {@link StoredAttempt.stored} that it takes the place of; undefined when there was none
   * @returns its own; undefined when another archiver came first and nothing was changed
   */
  async save(
    ref: PartitionRef,
    day: Day,
    previous: string | undefined,
    attempt: Attempt,
    nowMs: number,
  ): Promise<string | undefined> {
    const stored = JSON.stringify(attempt);
    const isSaved = await succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...metaKeys.archiving(ref, day),
            attempt: { S: stored },
            expiresAt: { N: String(Math.ceil((nowMs + ATTEMPT_KEPT_MS) / 1000)) },
          },
          // A retry may find the attempt that its first try wrote.
          ConditionExpression: `${previous === undefined ? 'attribute_not_exists(pk)' : 'attempt = :previous'} OR attempt = :stored`,
          ExpressionAttributeValues: {
            ':stored': { S: stored },
            ...(previous === undefined ? {} : { ':previous': { S: previous } }),
          },
        }),
      ),
    );
    return isSaved ? stored : undefined;
  }

  /** Removes the attempt of a day that goes. */
  async remove(ref: PartitionRef, day: Day): Promise<void> {
    await this.table.client.send(
      new DeleteItemCommand({ TableName: this.table.name, Key: metaKeys.archiving(ref, day) }),
    );
  }

  /** Removes an attempt's state, unless another archiver has changed it. */
  async end(ref: PartitionRef, day: Day, stored: string): Promise<void> {
    await succeeds(
      this.table.client.send(
        new DeleteItemCommand({
          TableName: this.table.name,
          Key: metaKeys.archiving(ref, day),
          ConditionExpression: 'attempt = :stored',
          ExpressionAttributeValues: { ':stored': { S: stored } },
        }),
      ),
    );
  }
}
