/**
 * Decodes the replies of the memory tier to readers. A reader usually wants only some columns of each frame. It sends
 * picks; each pick lists the wanted columns of one layout. If a frame's layout has a pick, the tier returns only the
 * picked columns of the frame; otherwise it returns the whole frame. FORMAT.md describes the bytes.
 */
import type { PositionedFrame } from './block';
import { decodeVersion } from './frame';
import { lazyVersions } from './lazy-versions';
import { type Block, type Column, CorruptChunkError } from './model';

/** First byte of a frame that is returned whole. Any other frame begins with the index of its pick. */
const WHOLE = 255;
/** Size of the timestamp, the arrival time, and the length of the sequence number together, in bytes. */
const HEAD_BYTES = 8 + 6 + 1;

/** A pick: the columns of one layout that a reader asked for, in the order of its request. */
export interface PickedColumns {
  /** The 16 bytes of the layout's id. */
  readonly layout: Uint8Array;
  /** For each picked column, its column in the block that the reader builds. No column occurs twice. */
  readonly positions: Uint32Array;
}

/**
 * Encodes whole frames as the read script does in its reply: each frame is preceded by a byte that marks it as whole,
 * and by its length.
 */
export function encodeWholeFrames(frames: readonly Uint8Array[]): Buffer {
  return Buffer.concat(
    frames.flatMap((frame) => {
      const head = Buffer.alloc(5, WHOLE);
      head.writeUInt32LE(frame.length, 1);
      return [head, frame];
    }),
  );
}

/** Returns the whole frames of a reply. */
export function takeWholeFrames(bytes: Uint8Array, picks: readonly PickedColumns[]): Uint8Array[] {
  const frames: Uint8Array[] = [];
  for (const { pick, from, to } of recordsOf(bytes, picks))
    if (pick === undefined) frames.push(bytes.subarray(from, to));
  return frames;
}

/**
 * Returns the frames of a reply that contain only picked columns, as arguments for {@link blockFromFrames}. Also
 * returns the number of frames for each pick.
 */
export function pickedFrames(
  bytes: Uint8Array,
  picks: readonly PickedColumns[],
): { readonly frames: PositionedFrame[]; readonly counts: Uint32Array } {
  const view = viewOf(bytes);
  const frames: PositionedFrame[] = [];
  const counts = new Uint32Array(picks.length);
  for (const { pick, from, to } of recordsOf(bytes, picks)) {
    if (pick === undefined) continue;
    const { layout, positions } = picks[pick]!;
    counts[pick]!++;
    const valuesFrom = to - 8 * positions.length;
    const frame = {
      layout,
      timestamp: timestampAt(view, from),
      version: decodeVersion(bytes.subarray(from + 8, valuesFrom)),
      values: bytes.subarray(valuesFrom, to),
    };
    frames.push({ frame, positions });
  }
  return { frames, counts };
}

/**
 * Builds a block from a reply, like {@link blockFromFrames} but in a fraction of the time. The reply must have no whole
 * frames, and its timestamps must be strictly ascending. Most replies meet both conditions.
 *
 * @param layout id of the block's layout
 * @param seriesCount number of series of this layout
 * @param bytes the reply
 * @param picks each with at least one column
 * @returns the block, and the number of frames for each pick; undefined if this function cannot handle the reply
 */
export function blockFromPicked(
  layout: Uint8Array,
  seriesCount: number,
  bytes: Uint8Array,
  picks: readonly PickedColumns[],
): { readonly block: Block; readonly counts: Uint32Array } | undefined {
  const view = viewOf(bytes);
  const counts = new Uint32Array(picks.length);
  let rowCount = 0;
  for (let at = 0; at < bytes.length; ) {
    const number = bytes[at++]!;
    const pick = picks[number];
    if (number === WHOLE || pick === undefined) return undefined;
    counts[number]!++;
    rowCount++;
    at = endOf(bytes, at, pick);
  }
  const columns = growingColumns(seriesCount, picks, counts, rowCount);
  const timestamps = new Float64Array(rowCount);
  let row = 0;
  for (let at = 0; at < bytes.length; ) {
    const { positions } = picks[bytes[at++]!]!;
    timestamps[row] = timestampAt(view, at);
    if (row > 0 && timestamps[row]! <= timestamps[row - 1]!) return undefined;
    at += HEAD_BYTES + bytes[at + HEAD_BYTES - 1]!;
    for (let i = 0; i < positions.length; i++, at += 8) {
      const column = columns[positions[i]!]!;
      const { rows, bits, length } = column;
      if (rows !== undefined) rows[length] = row;
      bits[2 * length] = view.getUint32(at, true);
      bits[2 * length + 1] = view.getUint32(at + 4, true);
      column.length = length + 1;
    }
    row++;
  }
  const block = lazyVersions(
    {
      layout,
      timestamps,
      columns: columns.map(({ rows, bits }): Column => {
        const values = new Float64Array(bits.buffer);
        return rows === undefined ? { values } : { rows, values };
      }),
    },
    () => pickedFrames(bytes, picks).frames.map(({ frame }) => frame.version),
  );
  return { block, counts };
}

/** A column of the result, while it is being filled. */
interface GrowingColumn {
  /** The rows in which the column has a value; undefined if it has a value in every row. */
  readonly rows: Uint32Array | undefined;
  /** The 64 bits of each value as two words, the lower one first. */
  readonly bits: Uint32Array;
  /** Number of values so far. */
  length: number;
}

/**
 * Allocates the columns of a block, still without values. Each column has room for the rows whose pick includes the
 * column.
 *
 * @param counts number of rows for each pick
 * @param rowCount total number of rows
 */
function growingColumns(
  seriesCount: number,
  picks: readonly PickedColumns[],
  counts: Uint32Array,
  rowCount: number,
): GrowingColumn[] {
  const lengths = new Uint32Array(seriesCount);
  picks.forEach(({ positions }, pick) => {
    for (let i = 0; i < positions.length; i++) lengths[positions[i]!]! += counts[pick]!;
  });
  return Array.from(lengths, (length) => ({
    rows: length === rowCount ? undefined : new Uint32Array(length),
    bits: new Uint32Array(2 * length),
    length: 0,
  }));
}

/** Returns the index just past a frame with picked columns. The frame's timestamp is at `from`. */
function endOf(bytes: Uint8Array, from: number, { positions }: PickedColumns): number {
  const end = from + HEAD_BYTES + (bytes[from + HEAD_BYTES - 1] ?? 0) + 8 * positions.length;
  if (end > bytes.length)
    throw new CorruptChunkError(`picked frame is cut off at byte ${bytes.length} of ${end}`);
  return end;
}

/**
 * Yields the frames of a reply. `pick` is undefined for a whole frame. The frame's bytes are the half-open range
 * from `from` to `to`.
 */
function* recordsOf(bytes: Uint8Array, picks: readonly PickedColumns[]) {
  const view = viewOf(bytes);
  for (let at = 0; at < bytes.length; ) {
    const number = bytes[at]!;
    if (number === WHOLE) {
      if (at + 5 > bytes.length) throw new CorruptChunkError(`frame is cut off at byte ${bytes.length}`);
      const from = at + 5;
      at = from + view.getUint32(at + 1, true);
      if (at > bytes.length) throw new CorruptChunkError(`frame is cut off at byte ${bytes.length} of ${at}`);
      yield { pick: undefined, from, to: at };
      continue;
    }
    const pick = picks[number];
    if (pick === undefined) throw new CorruptChunkError(`frame of pick ${number} of ${picks.length}`);
    const from = at + 1;
    at = endOf(bytes, from, pick);
    yield { pick: number, from, to: at };
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function timestampAt(view: DataView, at: number): number {
  const ms = view.getInt32(at + 4, true) * 2 ** 32 + view.getUint32(at, true);
  if (!Number.isSafeInteger(ms)) throw new CorruptChunkError(`timestamp ${ms} is beyond 2^53 - 1`);
  return ms;
}
