import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Day, PartitionRef } from '../model/placement';
import { metaKeys } from '../platform/keys';
import { type Item, queryAll, succeeds, type Table } from '../platform/table';

/** A partition-day's committed object. */
export interface ArchivedDay {
  /** The day's `changes` when the archiver began to read it. */
  readonly changes: number;
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  readonly samples: number;
  /** The time of the commit, ms since epoch. */
  readonly atMs: number;
}

export interface ManifestDay {
  readonly day: Day;
  /** Counts the announcements of flushes into the day. */
  readonly changes: number;
  readonly archived: ArchivedDay | undefined;
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
 *     pk manifest#tenant#partition   sk day   changes: number   archived: JSON
 */
export class Manifest {
  constructor(private readonly table: Table) {}

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
    return Item && manifestDayOf(Item);
  }

  /** The days with data, ascending, from `fromDay` to `toDay`, both included. */
  async days(ref: PartitionRef, fromDay: Day, toDay: Day): Promise<ManifestDay[]> {
    const days: ManifestDay[] = [];
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.manifestDays(ref) },
        ':from': { S: fromDay },
        ':to': { S: toDay },
      },
    });
    for await (const item of items) days.push(manifestDayOf(item));
    return days;
  }

  /**
   * Commits a day's object.
   *
   * @param previous what the archiver found in the manifest when it began
   * @returns false when another archiver committed meanwhile; nothing was changed
   */
  async commit(
    ref: PartitionRef,
    day: Day,
    previous: ArchivedDay | undefined,
    archived: ArchivedDay,
  ): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new UpdateItemCommand({
          TableName: this.table.name,
          Key: metaKeys.manifest(ref, day),
          UpdateExpression: 'SET archived = :new',
          ConditionExpression: previous === undefined ? 'attribute_not_exists(archived)' : 'archived = :old',
          ExpressionAttributeValues: {
            ':new': { S: JSON.stringify(archived) },
            ...(previous === undefined ? {} : { ':old': { S: JSON.stringify(previous) } }),
          },
        }),
      ),
    );
  }
}

function manifestDayOf(item: Item): ManifestDay {
  return {
    day: item.sk!.S!,
    changes: Number(item.changes?.N ?? 0),
    archived: item.archived?.S === undefined ? undefined : (JSON.parse(item.archived.S) as ArchivedDay),
  };
}
