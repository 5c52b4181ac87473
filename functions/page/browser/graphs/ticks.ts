import type { GraphUnit } from '../../../../shared/registry/graph-units';
import { isPlain, prefixesOf, symbolOf } from '../view/format';

/** Values along a graph's vertical axis, ascending, with their labels. */
export interface Ticks {
  readonly values: readonly number[];
  readonly labels: readonly string[];
}

export interface ValueRange {
  readonly low: number;
  readonly high: number;
}

/** If ticks are closer than this share of the largest value, float64 cannot tell them apart. */
const MIN_SPAN_SHARE = 1e-12;
/** Smaller values count as zero, since float64 represents them with fewer digits. */
const MIN_SIZE = 1e-306;
/**
 * An axis gets a prefix of its unit, such as `k`, if its labels then need at most MAX_DECIMALS decimals, and none of
 * their numbers is larger than MAX_PREFIXED.
 */
const MAX_DECIMALS = 3;
const MAX_PREFIXED = 10_000;
/** Units without ticks between 0 and 1. */
const WHOLE: ReadonlySet<GraphUnit> = new Set<GraphUnit>(['integer', 'bytes', 'bytes/sec', 'bits/sec']);
/** Maximum size of a range that is widened for whole units. In a larger range, ticks are more than 1 apart anyway. */
const MAX_WIDENED = 1000;

/**
 * Returns the range of a graph's vertical axis: slightly more than the range of its values. Areas begin at
 * zero. If the unit has no fractions, such as bytes, the range ends at whole numbers, so that there are ticks
 * to show.
 */
export function valueRange(min: number, max: number, isArea: boolean, unit: GraphUnit): ValueRange {
  const range = roomyRange(min, max, isArea, unit);
  if (!WHOLE.has(unit) || Math.max(Math.abs(range.low), Math.abs(range.high)) > MAX_WIDENED) return range;
  return { low: Math.floor(range.low), high: Math.ceil(range.high) };
}

function roomyRange(min: number, max: number, isArea: boolean, unit: GraphUnit): ValueRange {
  if (!(min <= max)) return { low: 0, high: 1 };
  if (isArea && unit === 'percentage' && min >= 0 && max > 50) return { low: 0, high: Math.max(100, max) };
  const bottom = isArea ? Math.min(0, min) : min;
  const top = isArea ? Math.max(0, max) : max;
  const size = Math.max(Math.abs(bottom), Math.abs(top));
  if (size < MIN_SIZE) return { low: 0, high: 1 };
  if (top - bottom < size * MIN_SPAN_SHARE) {
    const room = size * 0.1;
    return widened(bottom, top, room);
  }
  const room = top / 10 - bottom / 10;
  const { low, high } = widened(bottom, top, room);
  // End the axis at zero, instead of slightly beyond it.
  return { low: bottom >= 0 && low < 0 ? 0 : low, high: top <= 0 && high > 0 ? 0 : high };
}

function widened(low: number, high: number, room: number): ValueRange {
  return { low: Math.max(-Number.MAX_VALUE, low - room), high: Math.min(Number.MAX_VALUE, high + room) };
}

/** Returns the position of a value in a range: 0 at the bottom, 1 at the top. Does not overflow. */
export function shareOf(value: number, { low, high }: ValueRange): number {
  const span = high - low;
  return Number.isFinite(span) ? (value - low) / span : (value / 2 - low / 2) / (high / 2 - low / 2);
}

/**
 * Chooses at most `maxCount` round values in a range. Their labels have the same prefix, and enough digits to
 * distinguish them.
 */
export function ticksOf({ low, high }: ValueRange, maxCount: number, unit: GraphUnit): Ticks {
  const size = Math.max(Math.abs(low), Math.abs(high));
  const least = high / maxCount - low / maxCount;
  const minStep = WHOLE.has(unit) && high - low >= 1 ? Math.max(1, least) : least;
  const { divisor, step, decimals, suffix } = writingOf(size, minStep, unit);
  const values: number[] = [];
  const labels: string[] = [];
  const first = Math.ceil(low / divisor / step - 1e-9);
  for (let i = 0; i <= maxCount; i++) {
    const scaled = (first + i) * step;
    const value = scaled * divisor;
    if (value > high || (i > 0 && value <= values.at(-1)!)) break;
    values.push(value);
    labels.push(scaled === 0 ? `0${symbolOf(unit)}` : `${scaled.toFixed(decimals)}${suffix}`);
  }
  return { values, labels };
}

/** Decides how an axis formats its ticks: by a divisor, a fixed number of decimals, and a suffix. */
function writingOf(size: number, minStep: number, unit: GraphUnit) {
  const all = prefixesOf(unit);
  const fitting = all.filter(({ divisor }) => size >= divisor * 0.9995);
  const prefixes = fitting.length === 0 ? all.slice(-1) : fitting;
  if (!isPlain(size / prefixes[0]!.divisor)) {
    const exponent = Math.floor(Math.log10(size));
    const divisor = 10 ** exponent;
    return { divisor, ...roundStep(minStep / divisor), suffix: `e${exponent}${symbolOf(unit)}` };
  }
  const writings = prefixes.map(({ divisor, suffix }) => ({
    divisor,
    ...roundStep(minStep / divisor),
    suffix,
  }));
  const isShort = ({ divisor, decimals }: (typeof writings)[number]) =>
    decimals <= MAX_DECIMALS && size / divisor < MAX_PREFIXED;
  return writings.find(isShort) ?? writings.at(-1)!;
}

/**
 * Returns the smallest of 1, 2, 2.5 or 5 times a power of ten that is at least `min`, and the decimals for
 * its multiples.
 */
function roundStep(min: number): { readonly step: number; readonly decimals: number } {
  const exponent = Math.floor(Math.log10(min));
  const power = 10 ** exponent;
  const factor = [1, 2, 2.5, 5, 10].find((each) => each * power >= min * (1 - 1e-9)) ?? 10;
  const decimals = (factor === 10 ? -1 : factor === 2.5 ? 1 : 0) - exponent;
  return { step: factor * power, decimals: Math.min(100, Math.max(0, decimals)) };
}
