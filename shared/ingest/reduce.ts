import {
  compareVersions,
  encodeVersion,
  packSampleFrame,
  sampleFrameBytes,
  type Version,
  writeSampleFrame,
} from '../codec';
import type { WindowAppend } from '../hot/hot-tier';
import type { SourceDeletion, VersionedDeletion } from '../model/deletion';
import { FORMATS, type FrameFormat } from '../model/formats';
import type { Id } from '../model/id';
import { idText } from '../model/id';
import {
  decodeLayout,
  type Layout,
  layoutOf,
  type PackedLayout,
  packLayout,
  positionsIn,
  unpackLayout,
} from '../model/layout';
import { type GroupId, groupIdOf, windowStartMs } from '../model/placement';
import type { StreamRecord } from '../stream/record';

/** A decoded record, the version that the stream gave it, and its index in the batch. */
export interface ArrivedRecord {
  readonly record: StreamRecord;
  readonly version: Version;
  readonly index: number;
}

/** A batch's samples and deletions for one partition. */
export interface PartitionBatch {
  readonly tenant: string;
  readonly partition: number;
  /** Indexes in the batch of the records that contribute; they fail together. */
  readonly records: readonly number[];
  readonly layouts: ReadonlyMap<Id, PackedLayout>;
  /** The layouts of each group's frames, for the catalogue. */
  readonly groupLayouts: ReadonlyMap<GroupId, ReadonlySet<Id>>;
  readonly windows: readonly WindowAppend[];
  readonly samples: number;
  /** Lowest arrival time of the records, ms. */
  readonly arrivalMs: number;
  readonly deletions: readonly (SourceDeletion & VersionedDeletion)[];
}

/** A record's samples of one group and timestamp. */
interface VersionedRow {
  readonly layout: PackedLayout;
  readonly version: Version;
  readonly values: Uint8Array;
}

/**
 * Merges a batch by partition, and keeps of each (series, timestamp) the value of the highest version. So a flood of
 * samples of one timestamp reaches the store as one sample.
 */
export function reduceBatch(
  records: readonly ArrivedRecord[],
  windowMs: number,
  format: FrameFormat = FORMATS.frame.writes[0],
): PartitionBatch[] {
  const byPartition = new Map<string, ArrivedRecord[]>();
  for (const arrived of records) {
    const key = `${arrived.record.partition} ${arrived.record.tenant}`;
    const others = byPartition.get(key);
    if (others === undefined) byPartition.set(key, [arrived]);
    else others.push(arrived);
  }
  return [...byPartition.values()].map((arrived) => reducePartition(arrived, windowMs, format));
}

function reducePartition(
  records: readonly ArrivedRecord[],
  windowMs: number,
  format: FrameFormat,
): PartitionBatch {
  const layouts = new Map<Id, PackedLayout>();
  const groupLayouts = new Map<GroupId, Set<Id>>();
  const rows = new Map<GroupId, Map<number, VersionedRow[]>>();
  for (const { record, version } of records) {
    for (const { sourceIdBytes, splitBits, splitIndex, layout, frames } of record.groups) {
      const group = groupIdOf(idText(sourceIdBytes), splitBits, splitIndex);
      let byTimestamp = rows.get(group);
      if (byTimestamp === undefined) {
        byTimestamp = new Map();
        rows.set(group, byTimestamp);
      }
      for (const { timestamp, values } of frames) {
        const row: VersionedRow = { layout, version, values };
        const others = byTimestamp.get(timestamp);
        byTimestamp.set(timestamp, others === undefined ? [row] : addRow(others, row));
      }
    }
  }

  const windows: WindowAppend[] = [];
  let samples = 0;
  for (const [group, byTimestamp] of rows) {
    const byWindow = new Map<number, Uint8Array[]>();
    const used = new Set<Id>();
    for (const [timestamp, distinct] of byTimestamp) {
      const start = windowStartMs(timestamp, windowMs);
      let frames = byWindow.get(start);
      if (frames === undefined) {
        frames = [];
        byWindow.set(start, frames);
      }
      for (const row of distinct) {
        frames.push(frameOf(row, timestamp, format));
        samples += row.values.length / 8;
        layouts.set(row.layout.id, row.layout);
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
    records: records.map(({ index }) => index),
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

/** Adds a row to those of its group and timestamp. No two of the result have a series in common. */
function addRow(others: readonly VersionedRow[], row: VersionedRow): VersionedRow[] {
  const kept: VersionedRow[] = [];
  let rest: VersionedRow | undefined = row;
  for (const other of others) {
    if (rest === undefined) kept.push(other);
    else if (wins(other, rest)) {
      rest = without(rest, other);
      kept.push(other);
    } else {
      const left = without(other, rest);
      if (left !== undefined) kept.push(left);
    }
  }
  if (rest !== undefined) kept.push(rest);
  return kept;
}

/** Rows of equal versions come from one record, delivered twice, and have the same values. */
function wins(a: VersionedRow, b: VersionedRow): boolean {
  return compareVersions(a.version, b.version) >= 0;
}

/** Removes from `row` the series that `other` has. Returns undefined if none remain. */
function without(row: VersionedRow, other: VersionedRow): VersionedRow | undefined {
  if (row.layout.id === other.layout.id) return undefined;
  const layout = decodeLayout(unpackLayout(row.layout.packed));
  const others = decodeLayout(unpackLayout(other.layout.packed));
  const keys = [...layout.columns.keys()];
  const left = layout.series.filter((_, i) => !others.columns.has(keys[i]!));
  if (left.length === layout.series.length) return row;
  if (left.length === 0) return undefined;
  return narrow(row, layout, layoutOf(left));
}

function narrow(row: VersionedRow, from: Layout, to: Layout): VersionedRow {
  const values = new Uint8Array(to.series.length * 8);
  positionsIn(to, from).forEach((column, i) => {
    values.set(row.values.subarray(column * 8, column * 8 + 8), i * 8);
  });
  return { layout: packLayout(to.bytes), version: row.version, values };
}

function frameOf({ layout, version, values }: VersionedRow, timestamp: number, format: FrameFormat) {
  const bytes = encodedVersion(version);
  if (format === 2) return packSampleFrame(layout.idBytes, timestamp, bytes, values);
  const frame = Buffer.allocUnsafe(sampleFrameBytes(bytes, values.length / 8));
  writeSampleFrame(frame, 0, layout.idBytes, timestamp, bytes, values);
  return frame;
}

/** A record's frames share its version object, so its bytes are made once. */
const versionBytes = new WeakMap<Version, Uint8Array>();

function encodedVersion(version: Version): Uint8Array {
  let bytes = versionBytes.get(version);
  if (bytes === undefined) {
    bytes = encodeVersion(version);
    versionBytes.set(version, bytes);
  }
  return bytes;
}
