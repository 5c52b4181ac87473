/** Generates random series, and random queries, many of which rollups can answer. Compares answers. */
import type { Random } from '../../scripts/faults/random';
import { STALE_BITS } from '../../shared/promql/memory-store';
import type { QueryResult } from '../../shared/promql/query';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * Yields a series' samples: on or near the edges of grains, with gaps, resets, stale markers and other NaNs.
 *
 * @param leastMs shortest time between two samples
 */
export function* anySamples(
  random: Random,
  fromMs: number,
  toMs: number,
  leastMs = 5 * MINUTE,
): Generator<readonly [ms: number, value: number | bigint]> {
  const everyMs = leastMs * random.pick([1, 1.4, 4, 12, 60]);
  const offsetMs = random.pick([0, 0, 0, 1, -1, 12_345]);
  const jitterMs = random.pick([0, 0, 0, 5, MINUTE]);
  const kind = random.pick(['counter', 'gauge', 'noise', 'constant', 'huge'] as const);
  const ends = random.pick([0, 0.005, 0.05]);
  let [value, gapUntil] = [0, 0];
  for (let ms = fromMs; ms < toMs; ms += everyMs) {
    if (random.chance(ends)) gapUntil = ms + random.next() * random.pick([HOUR, DAY]);
    if (ms < gapUntil) continue;
    if (kind === 'counter') value = random.chance(ends) ? random.integer(0, 5) : value + random.next() * 10;
    if (kind === 'gauge') value = random.integer(-5, 50);
    if (kind === 'noise') value = random.next() - 0.5;
    if (kind === 'huge') value = random.pick([1e16, 1, -1e16, 0.1]);
    const special = random.pick<number | bigint>([STALE_BITS, NaN, Infinity, -0]);
    yield [ms + offsetMs + Math.floor(random.next() * jitterMs), random.chance(ends / 3) ? special : value];
  }
}

/** @param atSeconds a time for `@` */
export function anyQuery(random: Random, atSeconds: number): string {
  const window = random.pick(['1h', '2h', '1d', '2d', '90m', '24h']);
  const offset = random.pick([
    '',
    '',
    ' offset 1h',
    ' offset 1d',
    ' offset -1h',
    ' @ end()',
    ` @ ${atSeconds}`,
  ]);
  const of = random.pick('avg min max sum count last first present absent stddev'.split(' '));
  const range = `[${window}]${offset}`;
  return random.pick([
    `${of}_over_time(x${range})`,
    `${of}_over_time(x${range})`,
    `rate(x${range})`,
    `increase(x${range})`,
    `delta(x${range})`,
    `x${offset}`,
    `timestamp(x${offset})`,
    `sum(max_over_time(x${range})) - sum(min_over_time(x${range}))`,
    'avg_over_time(x[1h]) / stddev_over_time(x[1h])',
    `max_over_time(rate(x[1h])[1d:1h]${offset})`,
    `last_over_time(x[1d:1h]${offset})`,
  ]);
}

/** @throws if the answers differ by more than the tolerance of Prometheus' own tests */
export function expectSame(context: object, found: QueryResult, right: QueryResult): void {
  const [of, expected] = [found, right].map(({ value }) => {
    if (!('series' in value)) throw new Error(value.type);
    return value.series;
  });
  const times = (series: typeof of) =>
    series!.map(({ labels, timestamps }) => ({ labels, timestamps: [...timestamps] }));
  expect({ ...context, series: times(of) }).toEqual({ ...context, series: times(expected) });
  for (const [n, { values }] of expected!.entries())
    for (const [at, value] of values.entries())
      if (!isNear(of![n]!.values[at]!, value))
        expect({ ...context, n, at, value: of![n]!.values[at] }).toEqual({ ...context, n, at, value });
}

function isNear(a: number, b: number): boolean {
  if (Object.is(a, b) || a === b) return true;
  // An infinite tolerance would let any value pass for an infinite one.
  return (
    Number.isFinite(a) && Number.isFinite(b) && Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b))
  );
}
