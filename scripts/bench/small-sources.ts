/** Measures the size of single-series sources that share groups. */
import {
  blockFromFrames,
  encodeChunk,
  encodeVersion,
  packPartialFrame,
  packSampleFrame,
  presenceOf,
  type Version,
} from '../../shared/codec';
import { Random } from '../faults/random';
import { makeAgentData } from './data/agent-data';

const LAYOUT = new Uint8Array(16);
const START_MS = 1_790_000_040_000;
const MINUTE_MS = 60_000;
const MINUTES = 60;
const GROUPS = 20;
/**
 * Series per group, and how many of them one record contains. Those share a version and a frame per minute.
 */
const SHARES = [
  [1, 1],
  [64, 1],
  [64, 4],
  [64, 16],
  [256, 1],
  [256, 4],
  [256, 16],
  [256, 256],
] as const;
/** Records counted in one shard between two minutes. */
const RECORDS_A_MINUTE = 1_000_000;

/**
 * @returns lines with the bytes per sample of frames in memory and of hourly chunks
 */
export function smallSources(): string {
  const lines = SHARES.map(([series, together]) => {
    const { frame, chunk } = bytesOf(series, together);
    return `${String(series).padStart(3)} series, ${String(together).padStart(3)} a record: frame ${frame.toFixed(1)}, chunk ${chunk.toFixed(2)}`;
  });
  return [
    `bytes a sample of groups that small sources share, one sample a minute, ${MINUTES} a window:`,
    ...lines,
  ].join('\n');
}

function bytesOf(series: number, together: number): { readonly frame: number; readonly chunk: number } {
  const random = new Random(1);
  const data = makeAgentData(MINUTES);
  let frameBytes = 0;
  let chunkBytes = 0;
  for (let group = 0; group < GROUPS; group++) {
    const frames = Array.from({ length: MINUTES }, (_, minute) => minute).flatMap((minute) =>
      Array.from({ length: series / together }, (_, record) => {
        const positions = Uint32Array.from({ length: together }, (_, i) => record * together + i);
        const values = Float64Array.from(positions, (i) => data[(group + i) % data.length]!.values[minute]!);
        const bytes = new Uint8Array(values.buffer);
        const timestamp = START_MS + minute * MINUTE_MS;
        const version = versionAt(timestamp, minute, random);
        const encoded = encodeVersion(version);
        frameBytes += (
          together === series
            ? packSampleFrame(LAYOUT, timestamp, encoded, bytes)
            : packPartialFrame(LAYOUT, timestamp, encoded, presenceOf(positions, series), bytes)
        ).length;
        const frame = { layout: LAYOUT, timestamp, version, values: bytes } as const;
        return { frame, positions };
      }),
    );
    chunkBytes += encodeChunk(blockFromFrames(LAYOUT, series, frames)).length;
  }
  const samples = GROUPS * MINUTES * series;
  return { frame: frameBytes / samples, chunk: chunkBytes / samples };
}

/**
 * Returns a version that arrived within a second, with a sequence number like Kinesis': shard, time and a
 * count.
 */
function versionAt(timestamp: number, minute: number, random: Random): Version {
  const arrivalMs = timestamp + random.integer(200, 1_200);
  const count = BigInt(minute * RECORDS_A_MINUTE + random.integer(0, RECORDS_A_MINUTE));
  const seconds = BigInt(Math.floor(arrivalMs / 1000));
  return { arrivalMs, sequence: (0x205bf4e5c26n << 144n) | (count << 80n) | (seconds << 36n) | 0x62n };
}
