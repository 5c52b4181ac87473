/**
 * Example blocks, one for each feature of the format. Golden files are made of them, and mutations start from
 * them.
 */
import { type Block, blockFromFrames, type PositionedFrame, type Version } from '../../../shared/codec';
import { bytesOf, LAYOUT } from './arbitraries';

const MINUTE_MS = 60_000;
const START_MS = 1_700_000_040_000;
const ROWS = 60;

/** Pseudo-random numbers from 0 to 1, the same in every run. */
export function noise(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Version of the post of a minute. The post arrives soon after the minute, and its sequence number looks like one of
 * Kinesis.
 */
export function kinesisVersion(minute: number): Version {
  const arrivalMs = START_MS + minute * MINUTE_MS + 300 + ((minute * 7919) % 1500);
  const counter = 1_734_642_199n + BigInt(minute * 2121 + ((minute * 31) % 17));
  const seconds = BigInt(Math.floor(arrivalMs / 1000));
  return { arrivalMs, sequence: (0x205bf4e5c26n << 144n) | (counter << 80n) | (seconds << 36n) | 0x62n };
}

const backfill: Version = { arrivalMs: START_MS + 86_400_000, sequence: kinesisVersion(0).sequence };

type Value = number | bigint;

/** Posts of a group, one a minute. A bigint gives the bits of a value; undefined is a missing value. */
function posts(
  columns: readonly ((minute: number) => Value | undefined)[],
  versionOf: (minute: number) => Version = () => backfill,
  timeOf: (minute: number) => number = (minute) => START_MS + minute * MINUTE_MS,
  rows = ROWS,
): PositionedFrame[] {
  return Array.from({ length: rows }, (_, minute): PositionedFrame => {
    const values = columns.map((column) => column(minute));
    const present = [...values.keys()].filter((i) => values[i] !== undefined);
    const bits = BigUint64Array.from(present, (i) => bitsOfValue(values[i]!));
    const [timestamp, version] = [timeOf(minute), versionOf(minute)];
    const frame = { layout: LAYOUT, timestamp, version, values: bytesOf(bits) } as const;
    return { frame, positions: Uint32Array.from(present) };
  });
}

function bitsOfValue(value: Value): bigint {
  return typeof value === 'bigint' ? value : new BigUint64Array(Float64Array.of(value).buffer)[0]!;
}

const gather = (seriesCount: number, frames: PositionedFrame[]): Block =>
  blockFromFrames(LAYOUT, seriesCount, frames);
const one = (column: (minute: number) => Value | undefined, rows = ROWS): Block =>
  gather(1, posts([column], undefined, undefined, rows));

const STALE = 0x7ff0000000000002n;

/** These are functions, so that each block gets new noise and none depends on another. */
export const exampleBlocks: Readonly<Record<string, () => Block>> = {
  empty: () => gather(3, []),
  'no-series': () => gather(0, []),
  'one-point': () => one(() => 1.5, 1),
  constant: () => one(() => 42),
  'constant-nan': () => one(() => STALE),
  integers: () => {
    const random = noise(1);
    return one(() => Math.floor(random() * 1000) - 500);
  },
  'common-divisor': () => {
    const random = noise(2);
    return one(() => 1_000_000 + 4096 * Math.floor(random() * 500));
  },
  decimals: () => {
    const random = noise(3);
    return one(() => Math.round(random() * 10_000) / 100);
  },
  'decimals-with-ulps': () => {
    const random = noise(4);
    return one((minute) => {
      const value = (40_000 + Math.floor(random() * 20_000)) / 1000;
      return minute % 3 === 0 ? bitsOfValue(value) + BigInt(minute % 5) - 2n : value;
    });
  },
  'decimals-as-products': () => {
    const random = noise(5);
    return one(() => (40_000 + Math.floor(random() * 20_000)) * 0.001);
  },
  'rates-of-a-minute': () => {
    const random = noise(12);
    return one(() => Math.floor(random() * 5000) / 60);
  },
  'decimals-with-exceptions': () =>
    one((minute) => (minute === 7 ? STALE : minute === 30 ? -0 : minute === 59 ? -Infinity : minute / 4)),
  counter: () => one((minute) => 5_000_000 + 60 * minute),
  'counter-of-counters': () => one((minute) => 1e6 + 3 * minute * minute + 50 * minute + (minute % 2)),
  'floats-in-halves': () => {
    const random = noise(6);
    return one(() => Math.exp(random() * 3) * Math.PI);
  },
  'single-precision': () => {
    const random = noise(7);
    return one(() => Math.fround(20 + random()));
  },
  dictionary: () => {
    const random = noise(8);
    const words = [1 / 3, 2 / 3, Math.PI, Number.MIN_VALUE, -Number.MAX_VALUE];
    return one(() => words[Math.floor(random() * words.length)]!);
  },
  'two-segments': () => {
    const random = noise(9);
    return one((minute) => (minute < 1000 ? minute : Math.floor(random() * 50) / 10), 2000);
  },
  'wide-timestamps': () =>
    gather(
      1,
      posts([(m) => m], undefined, (m) => (m - 30) * Math.floor(Number.MAX_SAFE_INTEGER / 30), 61),
    ),
  'irregular-timestamps': () => {
    const random = noise(10);
    let ms = -5000;
    return gather(
      1,
      posts([(m) => m % 4], undefined, () => {
        ms += 1 + Math.floor(random() * 10_000);
        return ms;
      }),
    );
  },
  'missing-rows': () =>
    gather(
      5,
      posts([
        (m) => m,
        (m) => (m % 7 === 0 ? undefined : m),
        (m) => (m % 7 === 0 ? undefined : 2 * m),
        (m) => (m < 50 ? undefined : 1),
        () => undefined,
      ]),
    ),
  'same-columns': () => gather(4, posts([(m) => m % 9, (m) => m % 9, () => 0, (m) => m % 9])),
  'live-versions': () => gather(2, posts([(m) => m, () => 3], kinesisVersion)),
  'odd-versions': () =>
    gather(
      1,
      posts([(m) => m], (m) => ({ arrivalMs: 2 ** 47 - 1000 * m, sequence: 3n ** BigInt(220 - m) })),
    ),
  // Sequence numbers order these rows differently than arrival times do. One row has two versions, each for the same
  // number of values.
  'disordered-arrivals': () => {
    const versionOf = (m: number) => ({
      arrivalMs: START_MS + 1000 * (m ^ 3),
      sequence: 2n ** 185n + BigInt(m),
    });
    const halves = [0, 1].flatMap((series) =>
      posts(
        [(m) => (series === 0 && m === 7 ? 1 : undefined), (m) => (series === 1 && m === 7 ? 2 : undefined)],
        () => versionOf(7 - series),
      ),
    );
    return gather(2, [
      ...posts([(m) => m, (m) => (m % 3 === 0 ? undefined : -m)], versionOf).filter((_, m) => m !== 7),
      ...halves,
    ]);
  },
  corrections: () => {
    const live = posts([(m) => m, (m) => -m, () => 3, () => 4], kinesisVersion);
    const late = posts([() => 99.5, () => undefined, () => 7, () => 7], () => kinesisVersion(500));
    return gather(4, [...live, late[20]!, late[41]!]);
  },
  'similar-columns': () => {
    // Columns that are equal except for one cell each.
    const random = noise(11);
    const shared = Array.from({ length: ROWS }, () => random());
    return gather(
      20,
      posts(Array.from({ length: 20 }, (_, i) => (m: number) => (m === 3 * i ? i : shared[m]!))),
    );
  },
};
