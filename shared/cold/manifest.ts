import { DeleteItemCommand, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { Batches } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { type Item, queryItems, succeeds, type Table } from '../platform/table';
import { ArchiveAttempts } from './archive-attempts';

/** One object of an archived day: a range of its groups, readable by itself. Its key is never written again. */
export interface ArchivedPart {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  readonly samples: number;
  /** The part has the day's groups from this one on, up to the next part's first. The first part has all that come before. */
  readonly firstGroup: GroupId;
}

/** A partition-day's committed objects. */
export interface ArchivedDay {
  /** The day's `changes` when the archiver began to read it. */
  readonly changes: number;
  /** At least one, in ascending order of their first groups. */
  readonly parts: readonly ArchivedPart[];
  /** The time of the commit, ms since epoch. */
  readonly atMs: number;
}

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

/** Names an archived day's state: it changes whenever one of its objects does. */
export function identityOf({ parts }: Pick<ArchivedDay, 'parts'>): string {
  return parts.map(({ etag }) => etag).join(' ');
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
 *     pk manifest#tenant#partition   sk day   changes: number   archived: JSON   unswept: true
 *
 * `archived` is an {@link ArchivedDay}.
 * Attempts to archive a day lie beside it (archive-attempts.ts).
 */
export class Manifest {
  readonly attempts: ArchiveAttempts;
  private readonly asked = new Batches<undefined, readonly ManifestDay[]>();

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
    return Item && manifestDayOf(Item);
  }

  /** The days with data, ascending, from `fromDay` to `toDay`, both included. Who asks together shares the answer. */
  days(ref: PartitionRef, fromDay: Day, toDay: Day): Promise<readonly ManifestDay[]> {
    const key = `${metaKeys.manifestDays(ref)} ${fromDay} ${toDay}`;
    return this.asked.add(key, undefined, async (items) => {
      const days = await this.queryDays(ref, fromDay, toDay);
      return items.map(() => days);
    });
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
    return items.map(manifestDayOf);
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
    archived: ArchivedDay,
  ): Promise<string | undefined> {
    const committed = JSON.stringify(archived);
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

function manifestDayOf(item: Item): ManifestDay {
  const committed = item.archived?.S;
  return {
    day: item.sk!.S!,
    changes: Number(item.changes?.N ?? 0),
    archived: committed === undefined ? undefined : decodeArchived(committed),
    committed,
    ...(item.unswept?.BOOL ? { isUnswept: true } : {}),
  };
}

function decodeArchived(text: string): ArchivedDay {
  const known = decodedDays.get(text);
  if (known !== undefined) return known;
  const archived = JSON.parse(text) as ArchivedDay;
  decodedDays.set(text, archived);
  return archived;
}

/** A read of 460 days decodes as many entries, which rarely change. */
const decodedDays = new Cache<ArchivedDay>(CACHES.archivedDays, (_, text) => 4 * text.length + 200);

/** Before every group. */
export const FIRST_GROUP: GroupId = '';
