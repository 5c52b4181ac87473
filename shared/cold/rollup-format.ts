import { crc32 } from 'node:zlib';
import { ByteReader, ByteWriter } from '../model/bytes';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import type { GroupId } from '../model/placement';
import { type ByteRange, CorruptArchiveError } from './archive-format';
import type { EncodedPage } from './parquet-pages';
import {
  type GrainTimes,
  ROLLED_COLUMNS,
  type RolledColumn,
  type RolledGroup,
  type RolledSeries,
} from './rollup-grains';

/**
 * Rollup objects: Apache Parquet files with one row for each hour or day in which a series has samples.
 * FORMAT.md describes the bytes. rollup-writer.ts writes and rollup-object.ts reads them.
 */

/** The part of an object that belongs to one group, as listed in the directory of rollups. */
export interface ListedRollup {
  readonly group: GroupId;
  readonly layout: Id;
  readonly layoutRange: ByteRange;
  /**
   * The offset at which the pages of each column begin. A column has a page for each series that has grains, in the
   * layout's order. A column of {@link EXTRA_VALUES} has pages only for series with a stored value in that column.
   */
  readonly offsets: Readonly<Record<RolledColumn, number>>;
  /** The times of each series' grains, and the sizes of its pages: see {@link encodeGroupDirectory}. */
  readonly directory: Uint8Array;
  /** The archived states of the span's days: see {@link SpanDays}. */
  readonly days: Buffer;
  /** Identifies the deletions that had been applied to the samples of this rollup: see {@link deletionsKey}. */
  readonly deletions: string;
}

/** A rolled-up group, and the days and deletions from which it was made. */
export interface MadeGroup extends RolledGroup {
  readonly days: Buffer;
  readonly deletions: string;
}

/**
 * Some columns of a series' grains. A column without any stored value is absent. Concurrent readers share the arrays.
 */
export interface ReadGrains {
  readonly times: GrainTimes;
  readonly columns: Readonly<Partial<Record<RolledColumn, Float64Array>>>;
}

export const ROLLUP_MAGIC = Buffer.from('HTSDROL1');
export const ROLLUP_TRAILER_BYTES = 24;

export interface GroupDirectory {
  /** The times of each series' grains. Series with equal times share one `GrainTimes` object. */
  readonly timelines: readonly GrainTimes[];
  /** Sizes of the pages of each series, in bytes; 0 if there is no page. */
  readonly pageBytes: readonly Readonly<Record<RolledColumn, number>>[];
}

export type RolledPages = Readonly<Partial<Record<RolledColumn, EncodedPage>>>;

export function eachColumn<T>(of: (name: RolledColumn) => T): Record<RolledColumn, T> {
  return Object.fromEntries(ROLLED_COLUMNS.map((name) => [name, of(name)])) as Record<RolledColumn, T>;
}

/**
 * Maximum size of a directory, in bytes. A directory that would be larger leaves out the times of first and last
 * samples. The limit exists because the directory is copied into a DynamoDB item (`MAX_ENTRY_BYTES` in
 * rollup-directory.ts). Only a group with many series that were sampled at different and irregular times reaches the
 * limit.
 */
const MAX_TIMES_BYTES = 32 * 1024;

/**
 * Encodes the directory of a group:
 *
 *     uvarint   length of the grains, ms
 *     uvarint   1 if timelines have the times of samples, else 0
 *     uvarint   number of timelines; each: uvarint number of runs. A run has consecutive grains with equal counts:
 *               zigzag uvarint grains since the end of the previous run, or since 1970; uvarint grains; uvarint count.
 *               If timelines have the times of samples, the columns firsts, lasts, restFirsts and inexact
 *               of {@link GrainTimes} follow the runs; each: uvarint number of changes; each change:
 *               uvarint grains since the previous change; zigzag uvarint difference from the value
 *               before, which is 0 at first
 *     uvarint   number of series; each: uvarint timeline; nine uvarints, the sizes of its pages in the order of
 *               {@link ROLLED_COLUMNS}, unless the timeline is empty
 *     uint32    CRC-32, little-endian
 */
export function encodeGroupDirectory(
  series: readonly RolledSeries[],
  pages: readonly RolledPages[],
  grainMs: number,
  hasTimes = true,
): Buffer {
  const timelines = new Map<string, number>();
  const body = new ByteWriter(1024).uvarint(series.length);
  for (const [i, rolled] of series.entries()) {
    const encoded = encodeTimeline(rolled, grainMs, hasTimes).toString('latin1');
    const timeline = timelines.get(encoded) ?? timelines.size;
    timelines.set(encoded, timeline);
    body.uvarint(timeline);
    if (rolled.starts.length > 0)
      for (const name of ROLLED_COLUMNS) body.uvarint(pages[i]![name]?.bytes.length ?? 0);
  }
  const writer = new ByteWriter(1024)
    .uvarint(grainMs)
    .uvarint(hasTimes ? 1 : 0)
    .uvarint(timelines.size);
  for (const timeline of timelines.keys()) writer.bytes(Buffer.from(timeline, 'latin1'));
  writer.bytes(body.finish());
  const crc = crc32(writer.finish());
  writer.hole(4).writeUInt32LE(crc);
  const directory = writer.finish();
  return hasTimes && directory.length > MAX_TIMES_BYTES
    ? encodeGroupDirectory(series, pages, grainMs, false)
    : directory;
}

/** The columns of {@link GrainTimes} that a directory may lack, in storage order. */
const TIMES = ['firsts', 'lasts', 'restFirsts', 'inexact'] as const;

function encodeTimeline(times: GrainTimes, grainMs: number, hasTimes: boolean): Buffer {
  const { starts, counts } = times;
  const runs: { readonly gap: number; grains: number; readonly count: number }[] = [];
  let next = 0;
  for (let i = 0; i < starts.length; i++) {
    const grain = starts[i]! / grainMs;
    const last = runs.at(-1);
    if (last !== undefined && grain === next && last.count === counts[i]) last.grains++;
    else runs.push({ gap: grain - next, grains: 1, count: counts[i]! });
    next = grain + 1;
  }
  const writer = new ByteWriter(16).uvarint(runs.length);
  for (const { gap, grains, count } of runs) writer.uvarint(zigzag(gap)).uvarint(grains).uvarint(count);
  if (hasTimes) for (const name of TIMES) encodeChanges(writer, times[name]);
  return writer.finish();
}

function encodeChanges(writer: ByteWriter, column: Float64Array): void {
  const at: number[] = [];
  for (let i = 0; i < column.length; i++) if (column[i] !== (i === 0 ? 0 : column[i - 1])) at.push(i);
  writer.uvarint(at.length);
  for (const [n, i] of at.entries())
    writer.uvarint(i - (at[n - 1] ?? 0)).uvarint(zigzag(column[i]! - (column[i - 1] ?? 0)));
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** @throws {CorruptArchiveError} */
export function decodeGroupDirectory(bytes: Uint8Array): GroupDirectory {
  const content = bytes.subarray(0, -4);
  const crc = Buffer.from(bytes.subarray(-4));
  if (crc.length < 4 || crc.readUInt32LE() !== crc32(content))
    throw new CorruptArchiveError(`the checksum of a rollup's directory of ${bytes.length} bytes is wrong`);
  const reader = new ByteReader(content);
  const grainMs = reader.uvarint();
  const hasTimes = reader.uvarint() === 1;
  const timelines = Array.from({ length: reader.count(1) }, () => decodeTimeline(reader, grainMs, hasTimes));
  const ofSeries: GrainTimes[] = [];
  const pageBytes: Record<RolledColumn, number>[] = [];
  for (let left = reader.count(1); left > 0; left--) {
    const timeline = timelines[reader.uvarint()];
    if (timeline === undefined)
      throw new CorruptArchiveError(`series ${ofSeries.length} of a rollup has no timeline`);
    ofSeries.push(timeline);
    pageBytes.push(eachColumn(() => (timeline.starts.length === 0 ? 0 : reader.uvarint())));
  }
  return { timelines: ofSeries, pageBytes };
}

/** Maximum number of grains of a series. A span has at most 744 hours or 366 days. */
const MAX_GRAINS = 10_000;

function decodeTimeline(reader: ByteReader, grainMs: number, hasTimes: boolean): GrainTimes {
  const starts: number[] = [];
  const counts: number[] = [];
  let next = 0;
  for (let runs = reader.count(3); runs > 0; runs--) {
    next += unzigzag(reader.uvarint());
    const grains = reader.uvarint();
    const count = reader.uvarint();
    if (starts.length + grains > MAX_GRAINS)
      throw new CorruptArchiveError(`a rollup's series has more than ${MAX_GRAINS} grains`);
    for (let i = 0; i < grains; i++) {
      starts.push(next++ * grainMs);
      counts.push(count);
    }
  }
  const times = { starts: Float64Array.from(starts), counts: Float64Array.from(counts) };
  const column = () => (hasTimes ? decodeChanges(reader, starts.length) : new Float64Array(starts.length));
  const [firsts, lasts, restFirsts, inexact] = [column(), column(), column(), column()];
  return { ...times, firsts, lasts, restFirsts, inexact: hasTimes ? inexact : inexact.fill(1) };
}

function decodeChanges(reader: ByteReader, length: number): Float64Array {
  const column = new Float64Array(length);
  let [at, value] = [0, 0];
  for (let changes = reader.count(2); changes > 0; changes--) {
    at += reader.uvarint();
    if (at >= length) throw new CorruptArchiveError(`grain ${at} of a rollup's ${length} changes`);
    value += unzigzag(reader.uvarint());
    column.fill(value, at);
  }
  return column;
}

/** Returns the starts of the days in which a group has grains. */
export function groupDays({ directory }: Pick<ListedRollup, 'directory'>): Set<number> {
  const days = new Set<number>();
  for (const { starts } of new Set(decodeGroupDirectory(directory).timelines))
    for (const start of starts) days.add(Math.floor(start / DAY_MS) * DAY_MS);
  return days;
}
