/**
 * Operations on blocks: building a block from frames, merging, slicing, and moving columns to another layout. All
 * arguments and results are blocks in the canonical form (canonical.ts). Blocks are immutable, so a result may share
 * arrays with the arguments.
 */
import { bitHalvesOf, type Cells, canonicalBlock } from './canonical';
import { distinctVersions, lazyVersions, mergeVersions, versionsByRow } from './lazy-versions';
import { type Block, type Column, CorruptChunkError, type Frame, type Version } from './model';
import { isPresenceOf, presentSeries } from './presence';

/** A frame, and the columns of a block to which the frame's values belong. */
export interface PositionedFrame {
  readonly frame: Frame;
  /** For each series of the frame's layout, its column in the block; undefined if the block has the same layout. */
  readonly positions?: Uint32Array | undefined;
}

/** A position for {@link relayout} that leaves the column out. */
export const LEFT_OUT = 0xffffffff;

/** Returns the number of values in all columns of a block. */
export function sampleCount(block: Pick<Block, 'columns'>): number {
  let count = 0;
  for (const column of block.columns) count += column.values.length;
  return count;
}

/**
 * Builds a block from frames. The frames may be in any order, and several may have the same timestamp. For each series
 * and timestamp, the value with the highest version wins. Among values with the same version, the value whose bits form
 * the highest unsigned integer wins.
 *
 * @param layout id of the block's layout
 * @param seriesCount number of series in this layout, which is also the block's number of columns
 * @throws {CorruptChunkError} when a frame's values do not match its positions or, without positions, the
 *   block's layout
 * @throws {RangeError} when a position is not below `seriesCount`
 */
export function blockFromFrames(
  layout: Uint8Array,
  seriesCount: number,
  frames: Iterable<PositionedFrame>,
): Block {
  const samples: { frame: Frame; positions: Uint32Array | undefined; version: number }[] = [];
  const all: Version[] = [];
  for (const { frame, positions: placed } of frames) {
    const positions = presentPositions(frame, placed, seriesCount);
    checkFrame(frame, positions, layout, seriesCount);
    samples.push({ frame, positions, version: all.length });
    all.push(frame.version);
  }
  const { versions, indexes } = distinctVersions(all);
  for (const sample of samples) sample.version = indexes[sample.version]!;
  const isBefore = (a: (typeof samples)[number], b: (typeof samples)[number]) =>
    a.frame.timestamp - b.frame.timestamp || a.version - b.version;
  if (samples.some((sample, i) => i > 0 && isBefore(samples[i - 1]!, sample) > 0)) samples.sort(isBefore);

  const timestamps = new Float64Array(samples.length);
  const rowVersions = new Uint32Array(samples.length);
  let rowCount = 0;
  const ownCounts = new Uint32Array(seriesCount);
  let wholeFrames = 0;
  for (const { frame, positions, version } of samples) {
    if (rowCount === 0 || timestamps[rowCount - 1] !== frame.timestamp) {
      timestamps[rowCount++] = frame.timestamp;
    }
    rowVersions[rowCount - 1] = version;
    if (positions === undefined) wholeFrames++;
    else for (let i = 0; i < positions.length; i++) ownCounts[positions[i]!]!++;
  }

  // If several frames contribute to a row, the values in the row may have different versions. If there is no such row,
  // values need no versions of their own.
  const cellsBearVersions = rowCount < samples.length;
  const gathered = ownCounts.map((count) => count + wholeFrames);
  const columns = Array.from(gathered, (count) => ({
    rows: new Uint32Array(count),
    bits: new Uint32Array(2 * count),
    versions: cellsBearVersions ? new Uint32Array(count) : undefined,
    length: 0,
  }));
  let row = -1;
  let previousMs = Number.NaN;
  for (const { frame, positions, version } of samples) {
    if (frame.timestamp !== previousMs) row++;
    previousMs = frame.timestamp;
    const bits = alignedBits(frame.values);
    const count = bits.length >> 1;
    for (let i = 0; i < count; i++) {
      const column = columns[positions === undefined ? i : positions[i]!]!;
      let at = column.length - 1;
      const low = bits[2 * i]!;
      const high = bits[2 * i + 1]!;
      if (at >= 0 && column.rows[at] === row) {
        const isSame = column.versions![at] === version;
        if (isSame && !isHigher(low, high, column.bits[2 * at]!, column.bits[2 * at + 1]!)) continue;
      } else {
        column.rows[++at] = row;
        column.length = at + 1;
      }
      column.bits[2 * at] = low;
      column.bits[2 * at + 1] = high;
      if (column.versions !== undefined) column.versions[at] = version;
    }
  }
  return canonicalBlock({
    layout: layout.slice(),
    timestamps: timestamps.slice(0, rowCount),
    versions,
    rowVersions: rowVersions.slice(0, rowCount),
    cells: columns.map(
      ({ rows, bits, versions: own, length }): Cells => ({
        rows: length === rowCount ? undefined : rows.subarray(0, length),
        values: new Float64Array(bits.buffer, 0, length),
        versions: own?.subarray(0, length),
      }),
    ),
  });
}

/**
 * For each value of a frame, returns its column in the block.
 *
 * @param positions for each series of the frame's layout, its column in the block; undefined if the block has the same
 *   layout
 * @returns undefined if the frame has a value for every column of the block, in order
 */
function presentPositions(
  frame: Frame,
  positions: Uint32Array | undefined,
  seriesCount: number,
): Uint32Array | undefined {
  if (frame.presence === undefined) return positions;
  const layoutSeries = positions?.length ?? seriesCount;
  if (!isPresenceOf(frame.presence, layoutSeries))
    throw new CorruptChunkError(`presence map of ${frame.presence.length} bytes for ${layoutSeries} series`);
  const present = presentSeries(frame.presence);
  return positions === undefined ? present : present.map((series) => positions[series]!);
}

/**
 * Throws if a frame's values do not match the columns at `positions` or, without positions, all columns of the block.
 */
function checkFrame(
  frame: Frame,
  positions: Uint32Array | undefined,
  layout: Uint8Array,
  count: number,
): void {
  if (positions === undefined && !sameBytes(frame.layout, layout)) {
    throw new CorruptChunkError('frame has another layout than the block and no positions');
  }
  if (frame.values.length !== 8 * (positions?.length ?? count)) {
    throw new CorruptChunkError(
      `frame has ${frame.values.length} bytes of values for ${positions?.length ?? count} series`,
    );
  }
  if (positions !== undefined) {
    for (let i = 0; i < positions.length; i++) {
      if (positions[i]! >= count)
        throw new RangeError(`position ${positions[i]} in a block of ${count} series`);
    }
  }
}

/** Returns the bytes of float64 values as 32-bit halves: a view if the bytes are aligned to 4 bytes, else a copy. */
function alignedBits(values: Uint8Array): Uint32Array {
  const aligned = values.byteOffset % 4 === 0 ? values : Uint8Array.from(values);
  return new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2);
}

/** Whether the bits of one float64, read as an unsigned integer, are higher than the bits of another. */
function isHigher(low: number, high: number, otherLow: number, otherHigh: number): boolean {
  return high !== otherHigh ? high > otherHigh : low > otherLow;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Merges two blocks. If both have a value for a series and timestamp, the value with the higher version wins
 * (DESIGN.md, rule 2). The order of merges does not matter, and merging a block twice changes nothing.
 *
 * @throws {RangeError} when the blocks have different layouts
 */
export function mergeBlocks(a: Block, b: Block): Block {
  if (!sameBytes(a.layout, b.layout) || a.columns.length !== b.columns.length) {
    throw new RangeError(`blocks of ${a.columns.length} and ${b.columns.length} series differ in layout`);
  }
  if (b.timestamps.length === 0) return a;
  if (a.timestamps.length === 0) return b;
  const { versions, fromA: versionA, fromB: versionB } = mergeVersions(a.versions, b.versions);
  const { timestamps, fromA: rowA, fromB: rowB } = mergeTimestamps(a.timestamps, b.timestamps);
  const rowVersions = new Uint32Array(timestamps.length);
  for (let i = 0; i < rowB.length; i++) rowVersions[rowB[i]!] = versionB[b.rowVersions[i]!]!;
  let sharesRows = false;
  for (let i = 0; i < rowA.length; i++) rowVersions[rowA[i]!] = versionA[a.rowVersions[i]!]!;
  if (rowA.length + rowB.length > timestamps.length) sharesRows = true;
  const cells = a.columns.map((columnA, series): Cells => {
    const columnB = b.columns[series]!;
    const bearsVersions = sharesRows || columnA.versions !== undefined || columnB.versions !== undefined;
    const capacity = columnA.values.length + columnB.values.length;
    const rows = new Uint32Array(capacity);
    const values = new Float64Array(capacity);
    const own = bearsVersions ? new Uint32Array(capacity) : undefined;
    const bits = bitHalvesOf(values);
    const bitsA = bitHalvesOf(columnA.values);
    const bitsB = bitHalvesOf(columnB.values);
    const lengthA = columnA.values.length;
    const lengthB = columnB.values.length;
    let length = 0;
    for (let i = 0, j = 0; i < lengthA || j < lengthB; length++) {
      const inA = i < lengthA ? (columnA.rows === undefined ? i : columnA.rows[i]!) : -1;
      const inB = j < lengthB ? (columnB.rows === undefined ? j : columnB.rows[j]!) : -1;
      const atA = inA < 0 ? timestamps.length : rowA[inA]!;
      const atB = inB < 0 ? timestamps.length : rowB[inB]!;
      let takesA = atA <= atB;
      if (own !== undefined) {
        const ofA =
          inA < 0
            ? 0
            : versionA[columnA.versions === undefined ? a.rowVersions[inA]! : columnA.versions[i]!]!;
        const ofB =
          inB < 0
            ? 0
            : versionB[columnB.versions === undefined ? b.rowVersions[inB]! : columnB.versions[j]!]!;
        if (atA === atB) {
          takesA =
            ofA !== ofB
              ? ofA > ofB
              : isHigher(bitsA[2 * i]!, bitsA[2 * i + 1]!, bitsB[2 * j]!, bitsB[2 * j + 1]!);
        }
        own[length] = takesA ? ofA : ofB;
      }
      rows[length] = takesA ? atA : atB;
      bits[2 * length] = takesA ? bitsA[2 * i]! : bitsB[2 * j]!;
      bits[2 * length + 1] = takesA ? bitsA[2 * i + 1]! : bitsB[2 * j + 1]!;
      if (atA <= atB) i++;
      if (atB <= atA) j++;
    }
    return {
      rows: length === timestamps.length ? undefined : rows.subarray(0, length),
      values: values.subarray(0, length),
      versions: own?.subarray(0, length),
    };
  });
  return canonicalBlock({ layout: a.layout, timestamps, versions, rowVersions, cells });
}

/**
 * Joins blocks of one layout that do not overlap in time. The result is the same as if all blocks were merged with
 * {@link mergeBlocks}, but the running time depends only on the number of samples, not on the number of blocks.
 *
 * @param blocks at least one, in ascending order of time
 * @returns undefined if two blocks overlap in time, or one is empty
 */
export function joinBlocks(blocks: readonly Block[]): Block | undefined {
  const [first] = blocks as [Block];
  let rowCount = 0;
  let previousMs = -Infinity;
  for (const { timestamps } of blocks) {
    if (timestamps.length === 0 || timestamps[0]! <= previousMs) return undefined;
    previousMs = timestamps.at(-1)!;
    rowCount += timestamps.length;
  }
  if (blocks.every(hasVersionsByRow)) return joinRows(blocks, rowCount);
  const { versions, indexes } = distinctVersions(blocks.flatMap((block) => block.versions));
  const timestamps = new Float64Array(rowCount);
  const rowVersions = new Uint32Array(rowCount);
  let row = 0;
  let version = 0;
  const starts = blocks.map((block) => {
    const start = { firstRow: row, firstVersion: version };
    timestamps.set(block.timestamps, row);
    for (const own of block.rowVersions) rowVersions[row++] = indexes[version + own]!;
    version += block.versions.length;
    return start;
  });
  const columns = first.columns.map((_, series): Column => {
    let count = 0;
    let hasVersions = false;
    for (const { columns } of blocks) {
      const column = columns[series]!;
      count += column.values.length;
      hasVersions ||= column.versions !== undefined;
    }
    const values = new Float64Array(count);
    const bits = bitHalvesOf(values);
    const rows = count === rowCount ? undefined : new Uint32Array(count);
    const own = hasVersions ? new Uint32Array(count) : undefined;
    let at = 0;
    for (let b = 0; b < blocks.length; b++) {
      const column = blocks[b]!.columns[series]!;
      const { firstRow, firstVersion } = starts[b]!;
      bits.set(bitHalvesOf(column.values), 2 * at);
      if (rows !== undefined || own !== undefined)
        for (let i = 0; i < column.values.length; i++) {
          const of = firstRow + (column.rows === undefined ? i : column.rows[i]!);
          if (rows !== undefined) rows[at + i] = of;
          if (own !== undefined)
            own[at + i] =
              column.versions === undefined ? rowVersions[of]! : indexes[firstVersion + column.versions[i]!]!;
        }
      at += column.values.length;
    }
    return { ...(rows && { rows }), values, ...(own && { versions: own }) };
  });
  return { layout: first.layout, timestamps, versions, rowVersions, columns };
}

/** Whether every value of a block has the version of its row. */
function hasVersionsByRow({ columns }: Block): boolean {
  return columns.every(({ versions }) => versions === undefined);
}

/** Implements {@link joinBlocks} for blocks in which every value has its row's version. Decodes no versions. */
function joinRows(blocks: readonly Block[], rowCount: number): Block {
  const [{ layout, columns: first }] = blocks as [Block];
  const timestamps = new Float64Array(rowCount);
  const firstRows = new Uint32Array(blocks.length);
  let row = 0;
  blocks.forEach((block, b) => {
    timestamps.set(block.timestamps, row);
    firstRows[b] = row;
    row += block.timestamps.length;
  });
  const columns = first.map((_, series): Column => {
    let count = 0;
    for (const block of blocks) count += block.columns[series]!.values.length;
    const values = new Float64Array(count);
    const bits = bitHalvesOf(values);
    const rows = count === rowCount ? undefined : new Uint32Array(count);
    let at = 0;
    for (let b = 0; b < blocks.length; b++) {
      const column = blocks[b]!.columns[series]!;
      bits.set(bitHalvesOf(column.values), 2 * at);
      if (rows !== undefined)
        for (let i = 0; i < column.values.length; i++)
          rows[at + i] = firstRows[b]! + (column.rows === undefined ? i : column.rows[i]!);
      at += column.values.length;
    }
    return rows === undefined ? { values } : { rows, values };
  });
  return lazyVersions({ layout, timestamps, columns }, () => blocks.flatMap(versionsByRow));
}

function mergeTimestamps(a: Float64Array, b: Float64Array) {
  const merged = new Float64Array(a.length + b.length);
  const fromA = new Uint32Array(a.length);
  const fromB = new Uint32Array(b.length);
  let length = 0;
  for (let i = 0, j = 0; i < a.length || j < b.length; length++) {
    const inA = i < a.length ? a[i]! : Number.POSITIVE_INFINITY;
    const inB = j < b.length ? b[j]! : Number.POSITIVE_INFINITY;
    merged[length] = Math.min(inA, inB);
    if (inA <= inB) fromA[i++] = length;
    if (inB <= inA) fromB[j++] = length;
  }
  return { timestamps: merged.subarray(0, length), fromA, fromB };
}

/**
 * Converts a block to another layout. Column `i` of the block becomes column `positions[i]` of the result, or is left
 * out if the position is {@link LEFT_OUT}. The other columns of the result are empty.
 *
 * @param layout id of the new layout
 * @param seriesCount number of series in the new layout
 * @throws {RangeError} when a position is not below `seriesCount` or occurs twice, or when positions are
 *   missing
 */
export function relayout(
  block: Block,
  layout: Uint8Array,
  seriesCount: number,
  positions: Uint32Array,
): Block {
  if (positions.length !== block.columns.length) {
    throw new RangeError(`${positions.length} positions for ${block.columns.length} columns`);
  }
  const noRows = block.timestamps.length === 0 ? undefined : new Uint32Array(0);
  const cells: Cells[] = new Array(seriesCount).fill({ rows: noRows, values: new Float64Array(0) });
  const isTaken = new Uint8Array(seriesCount);
  for (let i = 0; i < positions.length; i++) {
    const position = positions[i]!;
    if (position === LEFT_OUT) continue;
    if (position >= seriesCount || isTaken[position] === 1) {
      throw new RangeError(`position ${position} stands twice or exceeds ${seriesCount} series`);
    }
    isTaken[position] = 1;
    cells[position] = block.columns[i]!;
  }
  const { timestamps } = block;
  // If a column has a value in every row, no row becomes empty.
  if (timestamps.length > 0 && hasVersionsByRow(block) && cells.some(({ rows }) => rows === undefined)) {
    const columns = cells.map(
      ({ rows, values }): Column => (rows === undefined ? { values } : { rows, values }),
    );
    return lazyVersions({ layout, timestamps, columns }, () => versionsByRow(block));
  }
  const { versions, rowVersions } = block;
  return canonicalBlock({ layout, timestamps, versions, rowVersions, cells });
}

/** Returns the samples of a block in the half-open range `[fromMs, toMs)`. */
export function sliceBlock(block: Block, fromMs: number, toMs: number): Block {
  const { timestamps } = block;
  const first = lowerBound(timestamps, fromMs);
  const end = Math.max(first, lowerBound(timestamps, toMs));
  if (first === 0 && end === timestamps.length) return block;
  // If some column has a value in every row, no row of the slice is empty, so the slice is already canonical.
  if (hasVersionsByRow(block) && block.columns.some(({ rows }) => rows === undefined))
    return lazyVersions(
      {
        layout: block.layout,
        timestamps: timestamps.subarray(first, end),
        columns: block.columns.map((column) => {
          const { rows, values } = cutColumn(column, first, end);
          return rows === undefined || rows.length === end - first ? { values } : { rows, values };
        }),
      },
      () => versionsByRow(block).slice(first, end),
    );
  return canonicalBlock({
    layout: block.layout,
    versions: block.versions,
    timestamps: timestamps.subarray(first, end),
    rowVersions: block.rowVersions.subarray(first, end),
    cells: block.columns.map((column) => cutColumn(column, first, end)),
  });
}

/**
 * Splits a block into the samples before `atMs` and the samples from `atMs` on. Merging the two parts restores the
 * block.
 */
export function cutBlock(block: Block, atMs: number): [Block, Block] {
  return [
    sliceBlock(block, Number.NEGATIVE_INFINITY, atMs),
    sliceBlock(block, atMs, Number.POSITIVE_INFINITY),
  ];
}

/**
 * Returns the cells of a column in the half-open range of rows `[firstRow, endRow)`. Row `firstRow` becomes row 0.
 */
function cutColumn({ rows, values, versions }: Cells, firstRow: number, endRow: number): Cells {
  if (rows === undefined) {
    return { values: values.subarray(firstRow, endRow), versions: versions?.subarray(firstRow, endRow) };
  }
  const first = lowerBound(rows, firstRow);
  const end = lowerBound(rows, endRow);
  return {
    rows: rows.subarray(first, end).map((row) => row - firstRow),
    values: values.subarray(first, end),
    versions: versions?.subarray(first, end),
  };
}

/** Returns the index of the first element that is at least `bound`, by binary search. */
function lowerBound(ascending: Float64Array | Uint32Array, bound: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
