/** Numbers and durations in PromQL's syntax. */

/** Units and their lengths in ms, longest first. */
const UNITS: readonly (readonly [unit: string, ms: number])[] = [
  ['y', 365 * 86_400_000],
  ['w', 7 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
];

/** Maximum duration, in ms. As in Go, it is 63 bits of nanoseconds, about 292 years. */
export const MAX_DURATION_MS = 2 ** 63 / 1e6;

const DURATION = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Parses a duration such as `1h30m`, with each unit at most once and longer units first. Returns ms, or an
 * error message.
 */
export function parseDurationMs(text: string): number | string {
  const units = text === '' ? null : DURATION.exec(text);
  if (units === null) return `not a valid duration string: ${JSON.stringify(text)}`;
  const ms = UNITS.reduce((sum, [, unitMs], i) => sum + Number(units[i + 1] ?? 0) * unitMs, 0);
  return ms > MAX_DURATION_MS ? 'duration out of range' : ms;
}

/**
 * Formats a duration as Prometheus does: `1h30m`, and `1m30s` for 90 s. Years and weeks are used only if the rest of
 * the duration is an exact multiple of them.
 */
export function promqlDurationText(ms: number): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const [unit, unitMs] of UNITS) {
    const isExact = unit === 'y' || unit === 'w';
    if (isExact && rest % unitMs !== 0) continue;
    const count = Math.floor(rest / unitMs);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * unitMs;
  }
  return text;
}

/**
 * Parses a number literal: decimal, hexadecimal, or octal with a leading 0 (`017` is 15, `08` is 8), with
 * underscores between digits.
 *
 * @returns undefined if the number is too large for a float64
 */
export function parseNumber(text: string): number | undefined {
  if (/^inf$/i.test(text)) return Number.POSITIVE_INFINITY;
  if (/^nan$/i.test(text)) return Number.NaN;
  const digits = text.replaceAll('_', '');
  if (/^0x/i.test(digits)) {
    const value = BigInt(digits);
    return value < 1n << 63n ? Number(value) : undefined;
  }
  if (/^0[0-7]+$/.test(digits)) {
    const value = BigInt(`0o${digits.slice(1)}`);
    if (value < 1n << 63n) return Number(value);
  }
  const value = Number(digits);
  return Number.isFinite(value) ? value : undefined;
}

/**
 * Formats a sample's value as Prometheus does: shortest digits, exponents with at least two digits, `+Inf`,
 * `NaN`.
 */
export function valueText(value: number): string {
  if (Number.isSafeInteger(value) && value !== 0) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  if (Object.is(value, -0)) return '-0';
  const text = String(value);
  return text.includes('e') ? text.replace(/e([+-])(\d)$/, 'e$10$2') : text;
}

/** Formats a value without an exponent, as `count_values` does in its label. */
export function plainText(value: number): string {
  const text = valueText(value);
  const [mantissa, exponent] = text.split('e');
  if (exponent === undefined) return text;
  const sign = mantissa!.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa!.replace('-', '').split('.');
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return (
    sign +
    digits.slice(0, point).padEnd(point, '0') +
    (point < digits.length ? `.${digits.slice(point)}` : '')
  );
}
