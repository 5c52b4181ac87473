import type { Id } from '../model/id';
import { type Day, dayStartMs, daysIn, sourceIdOfGroup } from '../model/placement';
import { JoinedCalls, mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import { getItems, type Item, putItem, queryItems, type Table } from '../platform/table';
import type { ListedChunk } from './archive-format';

/**
 * The directory's entry for a source and one object. With the entry, one request fetches any of the source's series
 * from the object.
 */
export interface ListedSource {
  /** The object's key and ETag. */
  readonly key: string;
  readonly etag: string;
  readonly chunks: readonly ListedChunk[];
}

/**
 * Maximum size of an entry, in bytes. A larger entry is not stored, and reads use the object's index instead. The limit
 * matters because a read of 460 days fetches 460 entries.
 */
const MAX_ENTRY_BYTES = 16 * 1024;
const PARALLEL = 32;
/**
 * A read of at least MIN_SOURCES sources and at most MAX_DAYS days fetches entries by key. Any other read uses queries,
 * because getting an entry by key costs a read unit even if the entry does not exist.
 */
const MIN_SOURCES = 8;
const MAX_DAYS = 3;

/**
 * The directory of the archive. For each source and day, it says where the source's series are in the day's object.
 * Entries are hints: an entry is valid only if its ETag equals the object's ETag. Without a valid entry, a reader uses
 * the object's own index.
 *
 *     pk directory#tenant#source   sk day   key, etag: text   chunks: JSON   directories: list of bytes   expiresAt: seconds
 */
export class ArchiveDirectory {
  private readonly calls = new JoinedCalls<Id, Map<Day, ListedSource>>();

  constructor(
    private readonly table: Table,
    private readonly ttlMs: number,
  ) {}

  /** Writes the entries of an object. @param object the object, with all its chunks, ordered by group */
  async put(
    tenantId: Id,
    day: Day,
    {
      key,
      etag,
      chunks,
    }: { readonly key: string; readonly etag: string; readonly chunks: readonly ListedChunk[] },
  ): Promise<void> {
    const expiresAt = { N: String(Math.ceil((Date.now() + this.ttlMs) / 1000)) };
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
    await mapLimited(items, PARALLEL, (item) => putItem(this.table, item));
  }

  /**
   * Reads the entries of a source from `fromDay` to `toDay`, both inclusive. Concurrent reads of many sources share
   * requests.
   */
  of(tenantId: Id, sourceId: Id, fromDay: Day, toDay: Day): Promise<Map<Day, ListedSource>> {
    return this.calls.add(`${tenantId} ${fromDay} ${toDay}`, sourceId, async (sourceIds) => {
      const days = daysIn(dayStartMs(fromDay), dayStartMs(toDay) + 1);
      const distinct = [...new Set(sourceIds)];
      const found =
        distinct.length >= MIN_SOURCES && days.length <= MAX_DAYS
          ? await this.byKeys(tenantId, distinct, days)
          : await this.byQueries(tenantId, distinct, fromDay, toDay);
      return sourceIds.map(
        (id) => new Map((found.get(id) ?? []).map((item) => [item.sk!.S!, listedOf(item)])),
      );
    });
  }

  private async byKeys(tenantId: Id, sourceIds: readonly Id[], days: readonly Day[]) {
    const ids = new Map(sourceIds.map((id) => [metaKeys.directoryOf(tenantId, id), id]));
    const keys = sourceIds.flatMap((id) => days.map((day) => metaKeys.directory(tenantId, id, day)));
    return Map.groupBy(await getItems(this.table, keys), ({ pk }) => ids.get(pk!.S!)!);
  }

  private async byQueries(tenantId: Id, sourceIds: readonly Id[], fromDay: Day, toDay: Day) {
    const found = await mapLimited(sourceIds, PARALLEL, async (id) => {
      const range = { pk: metaKeys.directoryOf(tenantId, id), from: fromDay, to: toDay };
      return [id, await queryItems(this.table, range)] as const;
    });
    return new Map<Id, readonly Item[]>(found);
  }
}

function listedOf({ key, etag, chunks: text, directories }: Item): ListedSource {
  const chunks: ListedChunk['chunk'][] = JSON.parse(text!.S!);
  return {
    key: key!.S!,
    etag: etag!.S!,
    chunks: chunks.map((chunk, i) => ({ chunk, directory: directories!.L![i]!.B! })),
  };
}
