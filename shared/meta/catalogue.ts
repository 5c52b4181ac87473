import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { LRUCache } from 'lru-cache';
import { DAY_MS } from '../duration';
import type { Id } from '../id';
import { decodedBytes, decodeLayout, type Layout } from '../layout';
import { dayOf, GROUP_ID_LENGTH, type GroupId, sourceIdOfGroup, splitBitsOfGroup } from '../placement';
import { queryAll, type Table } from './table';

const MAX_LAYOUT_BYTES = 4 * 1024 * 1024;

/** What is known of a source: every layout its groups have had. */
export interface SourceCatalogue {
  /** Layouts of each group, by group. */
  readonly layouts: ReadonlyMap<GroupId, readonly Layout[]>;
  /** Every split that the source's series have been in; readers look in each. */
  readonly splitBits: readonly number[];
  /** The longest window its samples were written with, ms: how far before a sample its window may begin. */
  readonly longestWindowMs: number;
}

/**
 * Which series there are: the layouts of every group, in the meta table. A layout is put there before the first
 * frame or chunk refers to it (design.md, rule 11), once a day again so that it outlives the data.
 *
 *     pk layouts#tenant#source   sk group#layout   layout: zstd of its bytes   windows: set of ms   expiresAt: seconds
 */
export class Catalogue {
  /** Layouts this instance wrote, by group and layout: the day it did. */
  private readonly written = new LRUCache<string, string>({ max: 200_000 });
  private readonly decoded = new LRUCache<string, Layout>({
    maxSize: 64_000_000,
    sizeCalculation: decodedBytes,
  });

  constructor(
    private readonly table: Table,
    private readonly retentionMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /** Puts a layout of a group, unless this instance did so today. `windowMs` is what its samples are written with. */
  async put(
    tenantId: Id,
    group: GroupId,
    layoutId: Id,
    layoutBytes: Uint8Array,
    windowMs: number,
  ): Promise<void> {
    const today = dayOf(this.now());
    const known = `${group}#${layoutId}#${windowMs}`;
    if (this.written.get(known) === today) return;
    // Data of today can be read for the retention; it may have been sent up to a day ahead, and archived late.
    const expiresAt = Math.ceil((this.now() + this.retentionMs + 30 * DAY_MS) / 1000);
    await this.table.client.send(
      new UpdateItemCommand({
        TableName: this.table.name,
        Key: keyOf(tenantId, group, layoutId),
        UpdateExpression: 'SET layout = :layout, expiresAt = :expiresAt ADD windows :windows',
        ExpressionAttributeValues: {
          ':layout': { B: zstdCompressSync(layoutBytes) },
          ':expiresAt': { N: String(expiresAt) },
          ':windows': { NS: [String(windowMs)] },
        },
      }),
    );
    this.written.set(known, today);
  }

  /** A layout of a group. Layouts are immutable, so a copy is as good as the item. */
  async layout(tenantId: Id, group: GroupId, layoutId: Id): Promise<Layout> {
    const copy = this.decoded.get(layoutId);
    if (copy !== undefined) return copy;
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: keyOf(tenantId, group, layoutId),
        ConsistentRead: true,
      }),
    );
    if (Item === undefined) throw new Error(`the catalogue has no layout ${layoutId} of group ${group}`);
    return this.decode(layoutId, Item.layout!.B!);
  }

  /** Everything that is known of a source; nothing when it has never posted. */
  async source(tenantId: Id, sourceId: Id): Promise<SourceCatalogue> {
    const layouts = new Map<GroupId, Layout[]>();
    let longestWindowMs = 0;
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: partitionKey(tenantId, sourceId) } },
    });
    for await (const item of items) {
      const sort = item.sk!.S!;
      const group = sort.slice(0, GROUP_ID_LENGTH);
      const layout = this.decode(sort.slice(GROUP_ID_LENGTH + 1), item.layout!.B!);
      const known = layouts.get(group);
      if (known === undefined) layouts.set(group, [layout]);
      else known.push(layout);
      for (const windowMs of item.windows?.NS ?? [])
        longestWindowMs = Math.max(longestWindowMs, Number(windowMs));
    }
    const splitBits = [...new Set([...layouts.keys()].map(splitBitsOfGroup))].sort((a, b) => a - b);
    return { layouts, splitBits, longestWindowMs };
  }

  private decode(layoutId: Id, compressed: Uint8Array): Layout {
    const copy = this.decoded.get(layoutId);
    if (copy !== undefined) return copy;
    const layout = decodeLayout(zstdDecompressSync(compressed, { maxOutputLength: MAX_LAYOUT_BYTES }));
    this.decoded.set(layoutId, layout);
    return layout;
  }
}

function partitionKey(tenantId: Id, sourceId: Id): string {
  return `layouts#${tenantId}#${sourceId}`;
}

function keyOf(tenantId: Id, group: GroupId, layoutId: Id) {
  return { pk: { S: partitionKey(tenantId, sourceIdOfGroup(group)) }, sk: { S: `${group}#${layoutId}` } };
}
