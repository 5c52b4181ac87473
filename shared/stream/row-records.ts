import { LRUCache } from 'lru-cache';
import type { RecordFormat } from '../model/formats';
import { type Id, idText } from '../model/id';
import { type Labels, labelsKey, labelsOf, METRIC_NAME, seriesKeys } from '../model/labels';
import { byKey, encodeLayout, encodeNamedLayout, type PackedLayout, packLayout } from '../model/layout';
import {
  dayOf,
  partitionOf,
  partitionsOn,
  sourceIdBytesOf,
  splitBitsFor,
  splitIndexOf,
} from '../model/placement';
import type { Columns, SourceRows } from '../protocol/protocol';
import type { Tenant } from '../tenancy/tenants';
import { type OutgoingRecord, partitionKeyOf } from './outgoing';
import { encodeRecords, type RecordFrame, type RecordGroup } from './record';

/** The columns of a row that go into one group. */
interface GroupColumns {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  /** For each series of the layout the index of its value in the row. */
  readonly positions: Uint32Array;
}

/** Where a source's columns go. */
interface PlacedColumns {
  readonly sourceIdBytes: Uint8Array;
  readonly sourceId: Id;
  readonly groups: readonly GroupColumns[];
}

/** By tenant, source and columns: agents send the same series minute after minute. */
const placed = new LRUCache<string, PlacedColumns>({
  max: 20_000,
  maxSize: 64_000_000,
  sizeCalculation: ({ groups }, key) =>
    groups.reduce(
      (sum, { layout, positions }) => sum + 500 + layout.packed.length + positions.byteLength,
      key.length,
    ),
});

/** Encodes a request's rows as records, split by partition and group. */
export function rowRecords(
  tenant: Tenant,
  sources: Iterable<SourceRows>,
  format?: RecordFormat,
): OutgoingRecord[] {
  const byPartition = new Map<number, RecordGroup[]>();
  for (const [source, rows] of sources) {
    const sourceKey = `${tenant.id}${labelsKey(source)}`;
    const groups = new Map<string, RecordGroup & { frames: RecordFrame[] }>();
    for (const { timestamp, columns, values } of rows) {
      const { sourceId, sourceIdBytes, groups: parts } = placeColumns(tenant.id, source, sourceKey, columns);
      const partition = partitionOf(sourceId, partitionsOn(tenant.placement, dayOf(timestamp)));
      for (const { splitBits, splitIndex, layout, positions } of parts) {
        const key = `${partition} ${splitBits} ${layout.id}`;
        let group = groups.get(key);
        if (group === undefined) {
          group = { sourceIdBytes, splitBits, splitIndex, layout, frames: [] };
          groups.set(key, group);
          const earlier = byPartition.get(partition);
          if (earlier === undefined) byPartition.set(partition, [group]);
          else earlier.push(group);
        }
        group.frames.push({ timestamp, values: valuesOf(positions, values) });
      }
    }
  }
  return [...byPartition].flatMap(([partition, groups]) =>
    encodeRecords(tenant.name, partition, groups, format).map((data) => ({
      partitionKey: partitionKeyOf({ tenantId: tenant.id, partition }),
      data,
    })),
  );
}

function placeColumns(tenantId: Id, source: Labels, sourceKey: string, columns: Columns): PlacedColumns {
  const cacheKey = `${sourceKey}${columns.key}`;
  const cached = placed.get(cacheKey);
  if (cached !== undefined) return cached;
  const sourceIdBytes = sourceIdBytesOf(tenantId, source);
  const made = { sourceIdBytes, sourceId: idText(sourceIdBytes), groups: groupColumns(columns) };
  placed.set(cacheKey, made);
  return made;
}

interface KeyedColumn {
  readonly key: string;
  readonly labels: Labels;
  readonly name: string;
  readonly position: number;
}

function groupColumns(columns: Columns): GroupColumns[] {
  let position = 0;
  const ordered = columns
    .series()
    .flatMap((series) =>
      seriesKeys(series).map((key, i): KeyedColumn => {
        return { key, labels: series.labels, name: series.names[i]!, position: position++ };
      }),
    )
    .sort(byKey)
    // The sort is stable, so the last of equal series remains.
    .filter(({ key }, i, all) => key !== all[i + 1]?.key);
  const labelBytes = ordered.reduce((sum, { key }) => sum + Buffer.byteLength(key), 0);
  const splitBits = splitBitsFor(ordered.length, labelBytes);
  const bySplit = Map.groupBy(ordered, ({ key }) => splitIndexOf(key, splitBits));
  return Array.from(
    bySplit,
    ([splitIndex, series]): GroupColumns => ({
      splitBits,
      splitIndex,
      layout: packLayout(encodeColumns(series)),
      positions: Uint32Array.from(series, ({ position }) => position),
    }),
  );
}

function encodeColumns(ordered: readonly KeyedColumn[]): Buffer {
  const { labels } = ordered[0]!;
  if (ordered.every((column) => column.labels === labels))
    return encodeNamedLayout({ labels, names: ordered.map(({ name }) => name) });
  return encodeLayout(
    ordered.map(({ key, labels, name }) => ({ key, labels: labelsOf([METRIC_NAME, name], ...labels) })),
  );
}

function valuesOf(positions: Uint32Array, values: BigUint64Array): Uint8Array {
  // The processors of Lambda are little-endian, as records are.
  const ordered = new BigUint64Array(positions.length);
  for (let i = 0; i < positions.length; i++) ordered[i] = values[positions[i]!]!;
  return new Uint8Array(ordered.buffer);
}
