import {
  compareVersions,
  encodeVersion,
  packSampleFrame,
  sampleFrameBytes,
  type Version,
  writeSampleFrame,
} from '../codec';
import type { WindowAppend } from '../hot/hot-tier';
import type { ArrivedDeletion } from '../model/deletion';
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

/** A decoded record with the version that the stream gave it, and its place in the batch. */
export interface ArrivedRecord {
  readonly record: StreamRecord;
  readonly version: Version;
  readonly index: number;
}

/** What a batch adds to one partition. */
export interface PartitionBatch {
  readonly tenant: string;
  readonly partition: number;
  /** Places in the batch of the records that contribute; they fail together. */
  readonly records: readonly number[];
  readonly layouts: ReadonlyMap<Id, PackedLayout>;
  /** Which layouts each group has frames of, for the catalogue. */
  readonly groupLayouts: ReadonlyMap<GroupId, ReadonlySet<Id>>;
  readonly windows: readonly WindowAppend[];
  readonly samples: number;
  /** Lowest arrival time of the records, ms. */
  readonly arrivalMs: number;
  /** What it deletes, each of one source, whatever the order in the batch. */
  readonly deletions: readonly (ArrivedDeletion & { readonly sourceId: Id })[];
}

interface Post {
  readonly layout: PackedLayout;
  readonly version: Version;
  readonly values: Uint8Array;
}

/**
 * Merges a batch by partition, and reduces the values of one (series, timestamp) to the one of the highest
 * version, before anything is sent: a flood of samples with one timestamp is one sample (design.md, section 4).
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
  const posts = new Map<GroupId, Map<number, Post[]>>();
  for (const { record, version } of records) {
    for (const { sourceId, splitBits, splitIndex, layout, frames } of record.groups) {
      const group = groupIdOf(idText(sourceId), splitBits, splitIndex);
      let byTimestamp = posts.get(group);
      if (byTimestamp === undefined) {
        byTimestamp = new Map();
        posts.set(group, byTimestamp);
      }
      for (const { timestamp, values } of frames) {
        const post: Post = { layout, version, values };
        const others = byTimestamp.get(timestamp);
        byTimestamp.set(timestamp, others === undefined ? [post] : reducePosts(others, post));
      }
    }
  }

  const windows: WindowAppend[] = [];
  let samples = 0;
  for (const [group, byTimestamp] of posts) {
    const byWindow = new Map<number, Uint8Array[]>();
    const used = new Set<Id>();
    for (const [timestamp, distinct] of byTimestamp) {
      const start = windowStartMs(timestamp, windowMs);
      let frames = byWindow.get(start);
      if (frames === undefined) {
        frames = [];
        byWindow.set(start, frames);
      }
      for (const post of distinct) {
        frames.push(frameOf(post, timestamp, format));
        samples += post.values.length / 8;
        layouts.set(post.layout.id, post.layout);
        used.add(post.layout.id);
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
      (record.deletions ?? []).map((deletion) => ({
        ...deletion,
        sourceId: idText(deletion.sourceId),
        version,
      })),
    ),
  };
}

/** Adds a post to those of its group and timestamp, of which no two have a series in common. */
function reducePosts(others: readonly Post[], post: Post): Post[] {
  const kept: Post[] = [];
  let rest: Post | undefined = post;
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

/** Equal versions are of one record, delivered twice, whose values are the same. */
function wins(a: Post, b: Post): boolean {
  return compareVersions(a.version, b.version) >= 0;
}

/** What is left of a post without the series of another; undefined when nothing is. */
function without(post: Post, other: Post): Post | undefined {
  if (post.layout.id === other.layout.id) return undefined;
  const layout = decodeLayout(unpackLayout(post.layout.packed));
  const others = decodeLayout(unpackLayout(other.layout.packed));
  const keys = [...layout.columns.keys()];
  const left = layout.series.filter((_, i) => !others.columns.has(keys[i]!));
  if (left.length === layout.series.length) return post;
  if (left.length === 0) return undefined;
  return narrow(post, layout, layoutOf(left));
}

function narrow(post: Post, from: Layout, to: Layout): Post {
  const values = new Uint8Array(to.series.length * 8);
  positionsIn(to, from).forEach((column, i) => {
    values.set(post.values.subarray(column * 8, column * 8 + 8), i * 8);
  });
  return { layout: packLayout(to.bytes), version: post.version, values };
}

function frameOf(post: Post, timestamp: number, format: FrameFormat): Uint8Array {
  const version = encodedVersion(post.version);
  if (format === 2) return packSampleFrame(post.layout.idBytes, timestamp, version, post.values);
  const frame = Buffer.allocUnsafe(sampleFrameBytes(version, post.values.length / 8));
  writeSampleFrame(frame, 0, post.layout.idBytes, timestamp, version, post.values);
  return frame;
}

/** All frames of a record share its version object, so its bytes are made once. */
const versionBytes = new WeakMap<Version, Uint8Array>();

function encodedVersion(version: Version): Uint8Array {
  let bytes = versionBytes.get(version);
  if (bytes === undefined) {
    bytes = encodeVersion(version);
    versionBytes.set(version, bytes);
  }
  return bytes;
}
