import { DeleteItemCommand, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { SharedCalls } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { type Item, queryItems, succeeds, type Table } from '../platform/table';
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
  /** Counts the announcements of flushes into the day. */
  readonly changes: number;
  readonly archived: ArchivedDay | undefined;
  /** `archived` as the table has it, for {@link Manifest.commit}. */
  readonly committed?: string;
  /** Whether objects may be left that the last commit replaced. */
  readonly isUnswept?: boolean;
}

/** The parts that may have samples of groups. */
export function partsOf({ parts }: Pick<ArchivedDay, 'parts'>, groups: readonly GroupId[]): ArchivedPart[] {
  const asked = new Set(
    groups.map((group) =>
      Math.max(
        0,
        parts.findLastIndex((part) => part.firstGroup <= group),
      ),
    ),
  );
  return parts.filter((_, index) => asked.has(index));
}

export function sizeOf({ parts }: Pick<ArchivedDay, 'parts'>): {
  readonly bytes: number;
  readonly samples: number;
} {
  const sum = (of: (part: ArchivedPart) => number) => parts.reduce((total, part) => total + of(part), 0);
  return { bytes: sum(({ bytes }) => bytes), samples: sum(({ samples }) => samples) };
}

/** Whether a day may have warm data that its object lacks. */
export function isOpen({ changes, archived }: ManifestDay): boolean {
  return archived === undefined || archived.changes !== changes;
}

/**
 * The manifest lists each partition's days that have data beyond memory, and their archive objects.
 *
 * A flush announces itself before it writes to a day, and again before it trims. The archiver notes the count of
 * announcements before it reads and commits with it: a flush in between leaves the day open (DESIGN.md, rule 12).
 *
 *     pk manifest#tenant#partition   sk day   changes: number   archived: text (archived-day.ts)   unswept: true
 *
 * Attempts to archive a day lie beside it (archive-attempts.ts).
 */
export class Manifest {
  readonly attempts: ArchiveAttempts;
  private readonly asked = new SharedCalls<readonly ManifestDay[]>();

  constructor(private readonly table: Table) {
    this.attempts = new ArchiveAttempts(table);
  }

  async announce(ref: PartitionRef, day: Day): Promise<void> {
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: metaKeys.manifest(ref, day),
        UpdateExpression: 'ADD changes :one',
        ExpressionAttributeValues: { ':one': { N: '1' } },
      }),
    );
  }

  async get(ref: PartitionRef, day: Day): Promise<ManifestDay | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.manifest(ref, day),
        ConsistentRead: true,
      }),
    );
    return Item && manifestDayOf(ref, Item);
  }

  /** The days with data, ascending, from `fromDay` to `toDay`, both included. Who asks together shares the answer. */
  days(ref: PartitionRef, fromDay: Day, toDay: Day): Promise<readonly ManifestDay[]> {
    const key = `${metaKeys.manifestDays(ref)} ${fromDay} ${toDay}`;
    return this.asked.ask(key, () => this.queryDays(ref, fromDay, toDay));
  }

  private async queryDays(ref: PartitionRef, fromDay: Day, toDay: Day): Promise<readonly ManifestDay[]> {
    const items = await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.manifestDays(ref) },
        ':from': { S: fromDay },
        ':to': { S: toDay },
      },
      ProjectionExpression: 'sk, changes, archived, unswept',
    });
    return items.map((item) => manifestDayOf(ref, item));
  }

  /**
   * Commits a day's objects.
   *
   * @param previous what the archiver found in the manifest when it began, {@link ManifestDay.committed}
   * @returns {@link ManifestDay.committed} from now on; undefined when another archiver committed meanwhile, and nothing was changed
   */
  async commit(
    ref: PartitionRef,
    day: Day,
    previous: string | undefined,
    archived: DayCommit,
  ): Promise<string | undefined> {
    const committed = encodeArchived(ref, day, archived);
    const isDone = await succeeds(
      this.table.client.send(
        new UpdateItemCommand({
          TableName: this.table.name,
          Key: metaKeys.manifest(ref, day),
          UpdateExpression: 'SET archived = :new, unswept = :true',
          // An answer that was lost is asked for again: what is there may be this very commit, whose keys no other has.
          ConditionExpression: `${previous === undefined ? 'attribute_not_exists(archived)' : 'archived = :old'} OR archived = :new`,
          ExpressionAttributeValues: {
            ':new': { S: committed },
            ':true': { BOOL: true },
            ...(previous === undefined ? {} : { ':old': { S: previous } }),
          },
        }),
      ),
    );
    return isDone ? committed : undefined;
  }

  /**
   * Removes a day of which nothing is left.
   *
   * @returns false when it was announced since `changes`; nothing was changed
   */
  async remove(ref: PartitionRef, day: Day, changes: number): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new DeleteItemCommand({
          TableName: this.table.name,
          Key: metaKeys.manifest(ref, day),
          ConditionExpression: 'changes = :changes',
          ExpressionAttributeValues: { ':changes': { N: String(changes) } },
        }),
      ),
    );
  }

  /** Notes that only the objects of a commit are left. */
  async markSwept(ref: PartitionRef, day: Day, committed: string): Promise<void> {
    await succeeds(
      this.table.client.send(
        new UpdateItemCommand({
          TableName: this.table.name,
          Key: metaKeys.manifest(ref, day),
          UpdateExpression: 'REMOVE unswept',
          ConditionExpression: 'archived = :committed',
          ExpressionAttributeValues: { ':committed': { S: committed } },
        }),
      ),
    );
  }
}

function manifestDayOf(ref: PartitionRef, item: Item): ManifestDay {
  const day = item.sk!.S!;
  const committed = item.archived?.S;
  return {
    day,
    changes: Number(item.changes?.N ?? 0),
    archived: committed === undefined ? undefined : decodeArchived(ref, day, committed),
    committed,
    ...(item.unswept?.BOOL ? { isUnswept: true } : {}),
  };
}

/** Before every group. */
export const FIRST_GROUP: GroupId = '';
