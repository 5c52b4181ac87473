import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { type Day, sourceIdOfGroup } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { type Item, queryItems, type Table } from '../platform/table';
import type { ListedChunk } from './archive-format';

/** What an object has of one source: enough to fetch any of its series in one request. */
export interface ListedSource {
  /** The object's key and ETag. */
  readonly key: string;
  readonly etag: string;
  readonly chunks: readonly ListedChunk[];
}

/** A source with more is read by the object's index. A read of 460 days fetches as many entries. */
const MAX_ENTRY_BYTES = 16 * 1024;
const PARALLEL = 32;

/**
 * The directory of the archive: per source and day where its series lie in the day's object. A hint: an entry counts only
 * while the object bears its ETag, and a reader without one opens the object.
 *
 *     pk directory#tenant#source   sk day   key, etag: text   chunks: JSON   directories: list of bytes   expiresAt: seconds
 */
export class Directory {
  constructor(
    private readonly table: Table,
    private readonly keptMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Lists a day's object: all its chunks, in order of group. */
  async put(
    tenantId: Id,
    day: Day,
    {
      key,
      etag,
      chunks,
    }: { readonly key: string; readonly etag: string; readonly chunks: readonly ListedChunk[] },
  ): Promise<void> {
    const expiresAt = { N: String(Math.ceil((this.now() + this.keptMs) / 1000)) };
    const items: Item[] = [];
    for (const [sourceId, own] of Map.groupBy(chunks, ({ chunk }) => sourceIdOfGroup(chunk.group))) {
      if (own.some(({ directory }) => directory === undefined)) continue;
      const entries = JSON.stringify(own.map(({ chunk }) => chunk));
      const directories = own.map(({ directory }) => ({ B: directory! }));
      const bytes = entries.length + own.reduce((sum, { directory }) => sum + directory!.length, 0);
      if (bytes > MAX_ENTRY_BYTES) continue;
      items.push({
        ...metaKeys.directory(tenantId, sourceId, day),
        key: { S: key },
        etag: { S: etag },
        chunks: { S: entries },
        directories: { L: directories },
        expiresAt,
      });
    }
    await mapLimited(items, PARALLEL, (Item) =>
      this.table.client.send(new PutItemCommand({ TableName: this.table.name, Item })),
    );
  }

  /** A source's entries from `fromDay` to `toDay`, both included. */
  async of(tenantId: Id, sourceId: Id, fromDay: Day, toDay: Day): Promise<Map<Day, ListedSource>> {
    const found = new Map<Day, ListedSource>();
    for (const item of await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: {
        ':pk': { S: metaKeys.directoryOf(tenantId, sourceId) },
        ':from': { S: fromDay },
        ':to': { S: toDay },
      },
    })) {
      const chunks: ListedChunk['chunk'][] = JSON.parse(item.chunks!.S!);
      found.set(item.sk!.S!, {
        key: item.key!.S!,
        etag: item.etag!.S!,
        chunks: chunks.map((chunk, i) => ({ chunk, directory: item.directories!.L![i]!.B! })),
      });
    }
    return found;
  }
}
