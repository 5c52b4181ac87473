import type { GraphUnit } from '../../../../shared/registry/graph-units';

/** The prefixes of a unit, smallest first, and the factor between consecutive prefixes. */
interface Scale {
  readonly base: number;
  readonly prefixes: readonly string[];
  /** Index in `prefixes` of the empty prefix, which leaves values undivided. */
  readonly one: number;
  readonly symbol: string;
}

const DECIMAL = { base: 1000, prefixes: ['', 'k', 'M', 'G', 'T', 'P', 'E'], one: 0 };
const BINARY = { base: 1024, prefixes: ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'], one: 0 };
const PLAIN = { base: 1000, prefixes: [''], one: 0 };

const SCALES: Readonly<Record<GraphUnit, Scale>> = {
  float: { ...DECIMAL, symbol: '' },
  integer: { ...DECIMAL, symbol: '' },
  percentage: { ...PLAIN, symbol: '%' },
  seconds: { base: 1000, prefixes: ['n', 'µ', 'm', ''], one: 3, symbol: ' s' },
  milliseconds: { ...PLAIN, symbol: ' ms' },
  bytes: { ...BINARY, symbol: ' B' },
  'bytes/sec': { ...BINARY, symbol: ' B/s' },
  'bits/sec': { ...DECIMAL, symbol: ' bit/s' },
  iops: { ...DECIMAL, symbol: ' /s' },
};

/** How to format values of a similar size: divide by the divisor, then append the suffix. */
export interface Prefix {
  readonly divisor: number;
  /** Prefix and unit, such as ` KiB`. */
  readonly suffix: string;
}

/** The prefixes of a unit, largest first. */
export function prefixesOf(unit: GraphUnit): readonly Prefix[] {
  const { base, prefixes, one, symbol } = SCALES[unit];
  return prefixes
    .map((prefix, i) => ({
      divisor: base ** (i - one),
      suffix: symbol.startsWith(' ') ? ` ${prefix}${symbol.slice(1)}` : `${prefix}${symbol}`,
    }))
    .reverse();
}

export function symbolOf(unit: GraphUnit): string {
  return SCALES[unit].symbol;
}

/** If values differ by at least this share, three or four digits suffice to distinguish them. */
const DISTINCT = 1e-3;
/**
 * Number of digits to which sums of float64 numbers are exact. Values that differ only in later digits are shown as
 * equal.
 */
const SURE_DIGITS = 15;
/**
 * A value in a decimal unit gets a prefix only if it needs at most this many digits. Otherwise it is written in full,
 * which is easier to compare than a long fraction.
 */
const MOST_DIGITS = 6;

/**
 * Formats a value for display: three or four digits, a prefix and the unit.
 *
 * @param spread difference between the values shown together; if it is small, the value gets enough digits to
 *   distinguish them
 */
export function formatValue(value: number, unit: GraphUnit, spread = Number.POSITIVE_INFINITY): string {
  const size = Math.abs(value);
  if (size === 0) return `0${symbolOf(unit)}`;
  if (spread > 0 && spread / 100 < size * DISTINCT) {
    const count = Math.ceil(Math.log10(size / spread)) + 3;
    if (count > 4 && count <= SURE_DIGITS) {
      const isFull = SCALES[unit].base === 1000 && count > MOST_DIGITS;
      const { divisor, suffix } = isFull ? { divisor: 1, suffix: symbolOf(unit) } : prefixOf(size, unit);
      return `${Number((value / divisor).toPrecision(count))}${suffix}`;
    }
  }
  const { divisor, suffix } = prefixOf(size, unit);
  return isPlain(size / divisor)
    ? `${digits(value / divisor)}${suffix}`
    : `${exponential(value)}${symbolOf(unit)}`;
}

/** Returns the largest prefix with at least one digit before the decimal point. */
function prefixOf(size: number, unit: GraphUnit): Prefix {
  const prefixes = prefixesOf(unit);
  // Use the factor 0.9995, because 999.96 would be rounded to 1000.
  return prefixes.find((each) => size >= each.divisor * 0.9995) ?? prefixes.at(-1)!;
}

/** Whether a number is written without an exponent. */
export function isPlain(size: number): boolean {
  return size >= 1e-4 && size < 1e6;
}

function digits(value: number): string {
  const size = Math.abs(value);
  const decimals = size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : 5;
  return String(Number(value.toFixed(decimals)));
}

/** Formats a number as `1.23e-9`, with at most three digits. */
function exponential(value: number): string {
  return Number(value.toPrecision(3)).toExponential().replace('e+', 'e');
}

export function formatCount(count: number): string {
  return count.toLocaleString('en');
}

/** Formats a count with a noun, such as `1 sample` or `1,200 samples`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatDollars(dollars: number): string {
  return dollars > 0 && dollars < 0.01 ? 'under 1 ¢' : `$${dollars.toFixed(2)}`;
}

/** Formats a duration with its two largest units: `3 min 20 s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 1) return 'under 1 s';
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/** Approximately the last day that a `Date` can represent in every zone, as Unix time in seconds. */
const LAST_DAY_S = 8.64e12 - 86_400;

/**
 * Formats a time.
 *
 * @param timeS Unix time in seconds
 * @returns date and time of day, in UTC or local time; the number itself if the calendar has no such day, as
 *   for `@ 1e15` in a query
 */
export function timeParts(timeS: number, utc: boolean): { readonly date: string; readonly time: string } {
  const at = new Date(timeS * 1000);
  if (Math.abs(timeS) > LAST_DAY_S) return { date: `${timeS} s`, time: 'since 1970' };
  const shown = utc ? at : new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  const [date, time] = shown.toISOString().split('T') as [string, string];
  return { date, time: time.slice(0, 8) };
}

/**
 * Formats a time as a date and a time of day, to the second.
 *
 * @param timeS Unix time in seconds
 */
export function formatTime(timeS: number, utc: boolean): string {
  const { date, time } = timeParts(timeS, utc);
  return `${date} ${time}`;
}

/** Formats a time for `<input type="datetime-local">`, to the minute. */
export function dateTimeText(timeS: number, utc: boolean): string {
  const { date, time } = timeParts(timeS, utc);
  return `${date}T${time.slice(0, 5)}`;
}

/** Parses a text formatted by `dateTimeText`. Returns a Unix time in seconds; undefined for any other text. */
export function parseDateTime(text: string, utc: boolean): number | undefined {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/.test(text)) return undefined;
  // Date parses a time without a zone as local time.
  const ms = Date.parse(utc ? `${text}Z` : text);
  return Number.isFinite(ms) ? ms / 1000 : undefined;
}

/** Returns labels along a time axis: the date where a day begins, otherwise the time. */
export function axisLabels(times: readonly number[], stepS: number, utc: boolean): string[] {
  return times.map((timeS, i) => {
    const { date, time } = timeParts(timeS, utc);
    if (stepS >= 28 * 86_400) return date.slice(0, 7);
    if (stepS >= 86_400) return date.slice(5);
    const isNewDay = time === '00:00:00' || (i > 0 && timeParts(times[i - 1]!, utc).date !== date);
    if (isNewDay) return date.slice(5);
    return stepS < 60 ? time : time.slice(0, 5);
  });
}
