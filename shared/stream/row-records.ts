import { BoundedCache } from '../model/bounded-cache';
import type { Id } from '../model/id';
import { type Labels, labelsKey, labelsOf, METRIC_NAME, seriesKeys } from '../model/labels';
import {
  byKey,
  cutSeries,
  type EncodedNames,
  encodeLayout,
  encodeLayoutOf,
  encodeNamedLayout,
  encodeNames,
  type PackedLayout,
  packLayout,
} from '../model/layout';
import { dayOf, partitionOf, partitionsOn, splitBitsFor, splitIndexOf } from '../model/placement';
import type { Columns, ColumnsPart, SourceRow, SourceRows } from '../protocol/protocol';
import type { Tenant } from '../tenancy/tenants';
import { type OutgoingRecord, partitionKeyOf } from './outgoing';
import { PoolRows, type RequestPools } from './pools';
import { encodeRecords, type RecordFrame, type RecordGroup } from './record';
import { ownIdOf } from './source-place';
import { type Allowance, type GroupRow, SourceUnions } from './source-unions';

const NO_POOLS: RequestPools = new Map();

/** The columns of a row that go into one group. */
interface GroupColumns {
  readonly splitBits: number;
  readonly splitIndex: number;
  readonly layout: PackedLayout;
  /** For each series of the layout the index of its value in the row. */
  readonly positions: Uint32Array;
}

/** By source and columns: agents send the same series minute after minute. */
const placed = new BoundedCache<readonly GroupColumns[]>(96_000_000, (groups, key) =>
  groups.reduce(
    (sum, { layout, positions }) => sum + 500 + layout.packed.length + positions.byteLength,
    key.length,
  ),
);

/**
 * Encodes a request's rows as records, split by partition and group.
 *
 * @param pools of the request's sources; those in none have groups of their own
 */
export function rowRecords(
  tenant: Tenant,
  sources: Iterable<SourceRows>,
  pools: RequestPools = NO_POOLS,
): OutgoingRecord[] {
  const byPartition = new Map<number, RecordGroup[]>();
  const allowance = { bytes: MAX_SMALL_ROWS_BYTES, series: MAX_UNION_WORK_SERIES };
  for (const { sourceId, rows } of placedRows(tenant.id, sources, pools)) {
    const sourceIdBytes = Buffer.from(sourceId, 'base64url');
    const groups = new Map<string, RecordGroup & { frames: RecordFrame[] }>();
    for (const row of rows) {
      const { timestamp } = row;
      const partition = partitionOf(sourceId, partitionsOn(tenant.placement, dayOf(timestamp)));
      for (const part of split(sourceId, row, allowance)) {
        const { splitBits, splitIndex, layout, presence, values: bytes } = part;
        const key = `${partition} ${splitBits} ${layout.id}`;
        let group = groups.get(key);
        if (group === undefined) {
          group = { sourceIdBytes, splitBits, splitIndex, layout, frames: [] };
          groups.set(key, group);
          const earlier = byPartition.get(partition);
          if (earlier === undefined) byPartition.set(partition, [group]);
          else earlier.push(group);
        }
        group.frames.push({ timestamp, presence, values: bytes });
      }
    }
  }
  return [...byPartition].flatMap(([partition, groups]) =>
    encodeRecords(tenant.name, partition, groups).map((data) => ({
      partitionKey: partitionKeyOf({ tenantId: tenant.id, partition }),
      data,
    })),
  );
}

/** Rows by what their groups are named by: a source, or a pool. */
interface PlacedRows {
  readonly sourceId: Id;
  readonly rows: Iterable<SourceRow>;
}

function placedRows(tenantId: Id, sources: Iterable<SourceRows>, pools: RequestPools): PlacedRows[] {
  const placed: PlacedRows[] = [];
  const pooled = new Map<Id, PoolRows>();
  for (const each of sources) {
    const [source, rows] = each;
    const pool = pools.get(each);
    if (pool === undefined) {
      placed.push({ sourceId: ownIdOf(tenantId, source), rows });
      continue;
    }
    let ofPool = pooled.get(pool.poolId);
    if (ofPool === undefined) {
      ofPool = new PoolRows();
      pooled.set(pool.poolId, ofPool);
    }
    ofPool.add(pool, rows);
  }
  for (const [sourceId, ofPool] of pooled) placed.push({ sourceId, rows: ofPool.rows() });
  return placed;
}

/** Layouts that small parts of their sources bear in one request: a hostile one would make megabytes of a few samples. */
const MAX_SMALL_ROWS_BYTES = 1_000_000;
/**
 * Series of unions that one request looks up and encodes again, each time counted anew. 900 lines of 300 new fields each, of 16
 * hosts, took 30 s without a bound.
 */
const MAX_UNION_WORK_SERIES = 100_000;

/** Unions by source; the first columns of a source, since most never have others. */
const unions = new BoundedCache<SourceUnions | readonly GroupColumns[]>(
  96_000_000,
  (known, key) => key.length + (known instanceof SourceUnions ? known.bytes : 200),
);
/** Sample time after which a source's unions begin anew: series that are no longer sent leave with the old ones. */
const UNION_MS = 6 * 3_600_000;

/**
 * Splits a row into groups: with layouts of its own if it recurs, else with those of its source's unions. Series that keep
 * their index have unions from the first row on.
 */
function split(sourceId: string, row: SourceRow, allowance: Allowance): GroupRow[] {
  const { columns, values } = row;
  const isListed = columns.isListed === true;
  const listed = isListed ? splitByUnions(sourceId, row, allowance) : undefined;
  if (listed !== undefined) return listed;
  const cacheKey = `${sourceId}${columns.key}`;
  let groups = placed.get(cacheKey);
  if (groups === undefined && !isListed) {
    const rows = splitByUnions(sourceId, row, allowance);
    if (rows !== undefined) return rows;
  }
  if (groups === undefined) {
    groups = groupColumns(columns);
    placed.set(cacheKey, groups);
    if (unions.get(sourceId) === undefined) unions.set(sourceId, groups);
  }
  return groups.map(({ splitBits, splitIndex, layout, positions }) => {
    return { splitBits, splitIndex, layout, values: valuesOf(positions, values) };
  });
}

function splitByUnions(
  sourceId: string,
  { timestamp, columns, values }: SourceRow,
  allowance: Allowance,
): GroupRow[] | undefined {
  let found = unions.get(sourceId);
  if (found instanceof SourceUnions && timestamp > found.madeAtMs + UNION_MS) {
    unions.delete(sourceId);
    found = undefined;
  }
  if (found === undefined && columns.isListed !== true) return undefined;
  const own = found instanceof SourceUnions ? found : new SourceUnions(found ?? [], timestamp);
  const before = found === own ? own.bytes : 0;
  const rows = own.split(columns, values, allowance);
  // Again, for its size has changed.
  if (own.bytes !== before) unions.set(sourceId, own);
  return rows;
}

interface KeyedColumn {
  readonly key: string;
  readonly labels: Labels;
  readonly name: string;
  readonly position: number;
}

/** Names of series in the order of a layout. */
interface ShapeOfRow {
  readonly names: EncodedNames;
  /** For each name the index of its value in the row. */
  readonly positions: Uint32Array;
  /** Bytes of the {@link labelsKey}s without the labels. */
  readonly nameBytes: number;
}

/** By the names of a row, in its order: a fleet's hosts have the same ones. */
const shapes = new BoundedCache<ShapeOfRow>(
  16_000_000,
  ({ names, positions }, key) => 300 + key.length + names.bytes.length + positions.byteLength,
);

/** The columns of a row whose series differ in their names alone, and fit one group; undefined for others. */
function namedColumns({ parts }: Columns): GroupColumns[] | undefined {
  if (parts === undefined) return undefined;
  let labelsText: string | undefined;
  let key = '';
  for (const { list, count, indexes } of parts) {
    const { named } = list;
    if (named === undefined || (labelsText !== undefined && named.labelsText !== labelsText))
      return undefined;
    labelsText = named.labelsText;
    key += `${named.namesKey} ${count}${indexes === undefined ? '' : `:${indexes.join()}`}\n`;
  }
  const [first] = parts;
  const [series] = first!.list.series([first!.indexes?.[0] ?? 0]);
  const { labels } = series!;
  let shape = shapes.get(key);
  if (shape === undefined) {
    shape = shapeOf(parts);
    if (shape === undefined) return undefined;
    shapes.set(key, shape);
  }
  const { names, positions, nameBytes } = shape;
  const labelBytes = nameBytes + names.count * Buffer.byteLength(labelsKey(labels));
  if (splitBitsFor(names.count, labelBytes) > 0) return undefined;
  return [{ splitBits: 0, splitIndex: 0, layout: packLayout(encodeLayoutOf(labels, names)), positions }];
}

/** @returns undefined when a single layout cannot have the names */
function shapeOf(parts: readonly ColumnsPart[]): ShapeOfRow | undefined {
  const all = parts.flatMap(({ list, count, indexes }) =>
    list.series(indexes ?? Uint16Array.from({ length: count }, (_, i) => i)).flatMap(({ names }) => names),
  );
  // The last of equal series remains.
  const positions = new Map(all.map((name, i) => [JSON.stringify(name), { name, i }]));
  if (positions.size < 2 || splitBitsFor(positions.size) > 0) return undefined;
  const ordered = [...positions].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  return {
    names: encodeNames(ordered.map(({ name }) => name)),
    positions: Uint32Array.from(ordered, ({ i }) => i),
    nameBytes: ordered.reduce(
      (sum, { name }) => sum + Buffer.byteLength(JSON.stringify(name)) + NAME_PAIR_BYTES,
      0,
    ),
  };
}

/** Of a {@link labelsKey}: `["__name__",],`. */
const NAME_PAIR_BYTES = 14;

function groupColumns(columns: Columns): GroupColumns[] {
  const named = namedColumns(columns);
  if (named !== undefined) return named;
  let position = 0;
  // Measurements of one host have equal labels, each its own: series of the same ones are encoded faster.
  const shared = new Map<string, Labels>();
  // The last of equal series remains; each is kept once, since a request may repeat a few 200,000 times.
  const distinct = new Map<string, KeyedColumn>();
  for (const series of columns.series()) {
    const labelsText = labelsKey(series.labels);
    const labels = shared.get(labelsText) ?? series.labels;
    shared.set(labelsText, labels);
    for (const [i, key] of seriesKeys(series).entries())
      distinct.set(key, { key, labels, name: series.names[i]!, position: position++ });
  }
  const ordered = [...distinct.values()].sort(byKey);
  const labelBytes = ordered.reduce((sum, { key }) => sum + Buffer.byteLength(key), 0);
  const splitBits = splitBitsFor(ordered.length, labelBytes);
  const bySplit = Map.groupBy(ordered, ({ key }) => splitIndexOf(key, splitBits));
  return [...bySplit].flatMap(([splitIndex, all]) =>
    // Names that hash into one group may exceed what a layout may have.
    cutSeries(all).map((series) => ({
      splitBits,
      splitIndex,
      layout: packLayout(encodeColumns(series)),
      positions: Uint32Array.from(series, ({ position }) => position),
    })),
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
