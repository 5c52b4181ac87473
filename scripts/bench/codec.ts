/**
 * Each measured block has a single version, like the blocks of a backfill: an arrival time, and the sequence number 0.
 * One of Kinesis' sequence numbers would add 24 bytes to each chunk. Sizes of live data, which has a version for each
 * post and sequence numbers of 186 bits, are reported separately.
 */

import {
  type Block,
  blockFromFrames,
  type Column,
  encodeChunk,
  openChunk,
  type Version,
} from '../../shared/codec';
import { HOUR_MS } from '../../shared/model/duration';
import type { SeriesData } from './data/agent-data';
import { dataSets, withLiveVersions } from './data/data-sets';
import { bench } from './harness/bench';
import { texts } from './harness/options';

const BLOCKS: readonly { name: string; rows?: number; windowMs?: number }[] = [
  { name: '60', rows: 60 },
  { name: '1h', windowMs: HOUR_MS },
  { name: '1d', windowMs: 24 * HOUR_MS },
  { name: '1440', rows: 1440 },
  { name: 'whole' },
];

const LAYOUT = Uint8Array.from({ length: 16 }, (_, i) => (i * 97 + 13) & 0xff);
const ROUND_MS = 200;
const ROUNDS = 5;

export const codec = bench({
  name: 'codec',
  summary: 'size and speed of chunks',
  description:
    'Measures bytes per sample and speed of chunks, for each data set and block length. Bytes include header, timestamps, directory ' +
    'and checksum. A data set whose series share their timestamps is one group; in other data sets each series is a chunk of its own.',
  notes:
    'Blocks have 60 rows, 1440 rows, an aligned window of 1h or 1d, or all rows.\n' +
    'Figures are medians of five rounds on one core, after a warm-up.\n' +
    "bytesPerPoint: each chunk has one version with sequence number 0, as after a backfill. Kinesis' numbers add 24 bytes a chunk.\n" +
    "liveBytesPerPoint: each post has its own version, with a sequence number like Kinesis'.",
  options: {
    data: texts(
      '<file...>',
      'files of lines {"labels":{},"timestamps":[ms],"values":[]}, gzipped or not (default: the files in ../shared/data, and ' +
        'generated metrics of a host)',
    ),
  },
  run: async ({ data }, harness) => {
    const rows: object[] = [];
    const add = harness.adder(rows);
    for (const { name, load } of dataSets(data)) {
      const groups = groupsOf(load());
      for (const { name: block, rows: length, windowMs } of BLOCKS) {
        const blocks = groups.flatMap((group) => cut(group, length, windowMs));
        add({ data: name, block, ...measure(blocks) });
      }
    }
    return rows;
  },
});

/** Builds one block if all series have the same timestamps; otherwise one block for each series. */
function groupsOf(series: SeriesData[]): Block[] {
  const first = JSON.stringify(series[0]?.timestamps);
  const isGroup = series.every(({ timestamps }) => JSON.stringify(timestamps) === first);
  return isGroup ? [blockOf(series)] : series.map((one) => blockOf([one]));
}

/** Builds a block through frames, so that duplicates are resolved as they are in the pipeline. */
function blockOf(series: SeriesData[]): Block {
  const version: Version = { arrivalMs: 1_790_000_000_000, sequence: 0n };
  const frames = (series[0]?.timestamps ?? []).map((timestamp, row) => {
    const values = new Uint8Array(Float64Array.from(series, (one) => one.values[row]!).buffer);
    return { frame: { layout: LAYOUT, timestamp, version, values } as const };
  });
  return blockFromFrames(LAYOUT, series.length, frames);
}

function cut(block: Block, rows: number | undefined, windowMs: number | undefined): Block[] {
  const { timestamps } = block;
  const blocks: Block[] = [];
  for (let start = 0, end = 0; start < timestamps.length; start = end) {
    if (rows !== undefined) end = Math.min(timestamps.length, start + rows);
    else if (windowMs === undefined) end = timestamps.length;
    else {
      const window = Math.floor(timestamps[start]! / windowMs);
      while (end < timestamps.length && Math.floor(timestamps[end]! / windowMs) === window) end++;
    }
    const columns = block.columns.map(({ values }): Column => ({ values: values.slice(start, end) }));
    blocks.push({
      ...block,
      timestamps: timestamps.slice(start, end),
      rowVersions: block.rowVersions.slice(start, end),
      columns,
    });
  }
  return blocks;
}

function measure(blocks: Block[]) {
  const points = sum(blocks, ({ columns }) => sum(columns, ({ values }) => values.length));
  const chunks = blocks.map(encodeChunk);
  const live = blocks.map(withLiveVersions);
  const perSecond = (work: () => void) => points / medianSeconds(work);
  return {
    points,
    bytesPerPoint: sum(chunks, ({ length }) => length) / points,
    encodePointsPerSecond: perSecond(() => {
      for (const one of blocks) encodeChunk(one);
    }),
    decodePointsPerSecond: perSecond(() => {
      for (const chunk of chunks) openChunk(chunk).block();
    }),
    liveBytesPerPoint: sum(live, (one) => encodeChunk(one).length) / points,
  };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

/**
 * Returns the median time of rounds that each repeat the work for {@link ROUND_MS}, after a warm-up round.
 */
function medianSeconds(work: () => void): number {
  const rounds: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const start = performance.now();
    let repeats = 0;
    do {
      work();
      repeats++;
    } while (performance.now() - start < ROUND_MS);
    if (round > 0) rounds.push((performance.now() - start) / 1000 / repeats);
  }
  return rounds.sort((a, b) => a - b)[ROUNDS >> 1]!;
}
