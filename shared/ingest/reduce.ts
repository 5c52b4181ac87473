import {
  compareVersions,
  encodeVersion,
  isPresent,
  packPartialFrame,
  packSampleFrame,
  presenceOf,
  type Version,
} from '../codec';
import type { WindowAppend } from '../hot/frame-appender';
import { hashesOfChecked } from '../model/checked-layouts';
import type { SourceDeletion, VersionedDeletion } from '../model/deletion';
import type { Id } from '../model/id';
import { idText } from '../model/id';
import { byKey, cutSeries, type KeyedLabels } from '../model/layout';
import { encodeLayout } from '../model/layout-bytes';
import { openLayout } from '../model/open-layouts';
import { type PackedLayout, packLayout } from '../model/packed-layout';
import { type GroupId, groupIdOf, windowStartMs } from '../model/placement';
import type { RecordFrame, StreamRecord } from '../stream/record';
import type { CommonLayouts } from './common-layouts';

/** A decoded record, the version that the stream gave it, and its index in the batch. */
export interface ArrivedRecord {
  readonly record: StreamRecord;
  readonly version: Version;
  readonly index: number;
}

/** The content of a batch for one partition. */
export interface PartitionBatch {
  readonly tenant: string;
  readonly partition: number;
  /** The layouts of all frames, by id. */
  readonly layouts: ReadonlyMap<Id, PackedLayout>;
  /** The layouts of each group's frames, for the catalogue. */
  readonly groupLayouts: ReadonlyMap<GroupId, ReadonlySet<Id>>;
  readonly windows: readonly WindowAppend[];
  /** Number of samples in `windows`. */
  readonly samples: number;
  /** The lowest arrival time of the records, in ms. */
  readonly arrivalMs: number;
  readonly deletions: readonly (SourceDeletion & VersionedDeletion)[];
}

/** Values of one record for series of one group at one timestamp. */
export interface VersionedRow extends Omit<RecordFrame, 'timestamp'> {
  readonly layout: PackedLayout;
  readonly version: Version;
}

/** Groups records by tenant and partition. Records of a partition keep their order. */
export function byPartition(records: readonly ArrivedRecord[]): ArrivedRecord[][] {
  return [...Map.groupBy(records, ({ record }) => `${record.partition} ${record.tenant}`).values()];
}

/**
 * Merges the records of one partition into frames for each group-window. For each series and timestamp, only the value
 * with the highest version is kept, so memory gets one sample, however many were sent.
 *
 * @param windowMs length of windows, in ms
 * @param commonLayouts kept between batches, since the same layouts arrive every minute
 */
export function reducePartition(
  records: readonly ArrivedRecord[],
  windowMs: number,
  commonLayouts: CommonLayouts,
): PartitionBatch {
  const layouts = new Map<Id, PackedLayout>();
  const groupLayouts = new Map<GroupId, Set<Id>>();
  const rows = new Map<GroupId, Map<number, VersionedRow[]>>();
  for (const { record, version } of records) {
    for (const { sourceIdBytes, splitBits, splitIndex, layout, frames } of record.groups) {
      const group = groupIdOf(idText(sourceIdBytes), splitBits, splitIndex);
      const common = commonLayouts.of(group, layout);
      let byTimestamp = rows.get(group);
      if (byTimestamp === undefined) {
        byTimestamp = new Map();
        rows.set(group, byTimestamp);
      }
      for (const { timestamp, presence, values } of frames) {
        const row = common({ layout, version, presence, values });
        const others = byTimestamp.get(timestamp);
        if (others === undefined) byTimestamp.set(timestamp, [row]);
        else others.push(row);
      }
    }
  }

  // All rows of a record have one version. Encode it once.
  const versionBytes = new Map(records.map(({ version }) => [version, encodeVersion(version)]));
  const windows: WindowAppend[] = [];
  let samples = 0;
  for (const [group, byTimestamp] of rows) {
    const byWindow = new Map<number, Uint8Array[]>();
    const used = new Set<Id>();
    for (const [timestamp, all] of byTimestamp) {
      const start = windowStartMs(timestamp, windowMs);
      let frames = byWindow.get(start);
      if (frames === undefined) {
        frames = [];
        byWindow.set(start, frames);
      }
      for (const row of distinctRows(all)) {
        frames.push(frameOf(row, timestamp, versionBytes.get(row.version)!));
        samples += row.values.length / 8;
        if (layouts.get(row.layout.id)?.bytes === undefined) layouts.set(row.layout.id, row.layout);
        used.add(row.layout.id);
      }
    }
    groupLayouts.set(group, used);
    for (const [windowStart, frames] of byWindow) windows.push({ group, windowStart, frames });
  }
  const { tenant, partition } = records[0]!.record;
  return {
    tenant,
    partition,
    layouts,
    groupLayouts,
    windows,
    samples,
    arrivalMs: Math.min(...records.map(({ version }) => version.arrivalMs)),
    deletions: records.flatMap(({ record, version }) =>
      (record.deletions ?? []).map((deletion) => ({ ...deletion, version })),
    ),
  };
}

/**
 * Keeps, for each series, the value with the highest version. Takes time linear in the number of values.
 *
 * @param rows rows of one group and timestamp
 * @returns rows, no two of which have a series in common; rows of the same version may have been joined
 */
function distinctRows(rows: VersionedRow[]): VersionedRow[] {
  if (rows.length === 1) return rows;
  rows.sort((a, b) => compareVersions(b.version, a.version));
  const byLayout = Map.groupBy(rows, ({ layout }) => layout.id);
  if (areDisjoint(byLayout)) return [...byLayout.values()].flatMap(distinctRowsOfLayout);
  const taken = new Set<string>();
  const takenLayouts = new Set<Id>();
  const distinct: VersionedRow[] = [];
  for (let at = 0; at < rows.length; ) {
    const { version } = rows[at]!;
    const picked: PickedValue[] = [];
    const parts: VersionedRow[] = [];
    for (; at < rows.length && compareVersions(rows[at]!.version, version) === 0; at++) {
      const row = rows[at]!;
      // Skip the row: another row of the same layout has values for all series, and its version is at least as high.
      if (takenLayouts.has(row.layout.id)) continue;
      if (row.presence === undefined) takenLayouts.add(row.layout.id);
      const before = picked.length;
      pickNew(row, taken, picked);
      if (picked.length > before) parts.push(row);
    }
    const only = parts.length === 1 ? parts[0] : undefined;
    if (only !== undefined && only.values.length === 8 * picked.length) distinct.push(only);
    else distinct.push(...rowsOfPicked(version, picked));
  }
  return distinct;
}

/** If rows have more layouts than this, {@link distinctRows} compares series instead of hashes. */
const MAX_COMPARED = 16;

/** Whether the layouts of rows certainly have no series in common. */
function areDisjoint(byLayout: ReadonlyMap<Id, readonly VersionedRow[]>): boolean {
  if (byLayout.size === 1) return true;
  if (byLayout.size > MAX_COMPARED) return false;
  // Equal series have equal hashes, so layouts without a common hash have no series in common. If hashes collide, the
  // caller compares series, which is slower.
  const hashes = new Set<number>();
  let count = 0;
  for (const [row] of byLayout.values()) {
    const ofLayout = hashesOfChecked(row!.layout);
    count += ofLayout.length;
    for (const each of ofLayout) hashes.add(each);
  }
  return hashes.size === count;
}

/** Implements {@link distinctRows} for rows of one layout, sorted by version, the highest first. */
function distinctRowsOfLayout(rows: readonly VersionedRow[]): readonly VersionedRow[] {
  if (rows.length === 1) return rows;
  const { layout } = rows[0]!;
  const { seriesCount } = layout;
  const taken = new Uint8Array(seriesCount);
  let left = seriesCount;
  const distinct: VersionedRow[] = [];
  for (let at = 0; at < rows.length && left > 0; ) {
    const { version } = rows[at]!;
    /** The values of all rows of one version, 8 bytes for each column of the layout. */
    const values = new Uint8Array(8 * seriesCount);
    const columns: number[] = [];
    const first = at;
    for (; at < rows.length && compareVersions(rows[at]!.version, version) === 0; at++) {
      const { presence, values: own } = rows[at]!;
      for (let column = 0, from = 0; column < seriesCount; column++) {
        if (presence !== undefined && !isPresent(presence, column)) continue;
        if (taken[column] === 0) {
          taken[column] = 1;
          columns.push(column);
          values.set(own.subarray(from, from + 8), 8 * column);
        }
        from += 8;
      }
    }
    left -= columns.length;
    if (columns.length === 0) continue;
    if (at === first + 1 && 8 * columns.length === rows[first]!.values.length) {
      distinct.push(rows[first]!);
      continue;
    }
    columns.sort((a, b) => a - b);
    columns.forEach((column, i) => {
      values.copyWithin(8 * i, 8 * column, 8 * column + 8);
    });
    const presence = columns.length === seriesCount ? undefined : presenceOf(columns, seriesCount);
    distinct.push({ layout, version, presence, values: values.subarray(0, 8 * columns.length) });
  }
  return distinct;
}

/** A value that {@link distinctRows} keeps: no row of a higher version has a value for its series. */
interface PickedValue extends KeyedLabels {
  readonly row: VersionedRow;
  /** Index of the value among the row's values. */
  readonly value: number;
}

/** Adds to `picked` the values of a row whose series are not in `taken` yet, and their series to `taken`. */
function pickNew(row: VersionedRow, taken: Set<string>, picked: PickedValue[]): void {
  const { columns, series } = openLayout(row.layout.id, row.layout.packed);
  let column = 0;
  let value = 0;
  for (const key of columns.keys()) {
    if (row.presence === undefined || isPresent(row.presence, column)) {
      if (!taken.has(key)) {
        taken.add(key);
        picked.push({ key, labels: series[column]!, row, value });
      }
      value++;
    }
    column++;
  }
}

/** Makes rows from picked values, in new layouts that have only the series of these values. */
function rowsOfPicked(version: Version, picked: PickedValue[]): VersionedRow[] {
  return cutSeries(picked.sort(byKey), ({ key }) => Buffer.byteLength(key)).map((part) => {
    const values = new Uint8Array(part.length * 8);
    part.forEach(({ row, value }, i) => {
      values.set(row.values.subarray(value * 8, value * 8 + 8), i * 8);
    });
    return { layout: packLayout(encodeLayout(part)), version, values };
  });
}

function frameOf(
  { layout, presence, values }: VersionedRow,
  timestamp: number,
  versionBytes: Uint8Array,
): Uint8Array {
  return presence === undefined
    ? packSampleFrame(layout.idBytes, timestamp, versionBytes, values)
    : packPartialFrame(layout.idBytes, timestamp, versionBytes, presence, values);
}
