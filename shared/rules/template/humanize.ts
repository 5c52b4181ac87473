import { timeOf } from './arguments';
import { formatFloat } from './format';

/**
 * Formats numbers for people.
 *
 * @see https://prometheus.io/docs/prometheus/latest/configuration/template_reference/#numbers
 */

const LARGE = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];
const SMALL = ['m', 'u', 'n', 'p', 'f', 'a', 'z', 'y'];
const BINARY = ['ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei', 'Zi', 'Yi'];

function short(value: number): string {
  return formatFloat(value, 'g', 4);
}

/** Divides a number until it is small, and appends the metric prefix. */
function shortenLarge(value: number, prefixes: readonly string[], by: number): string {
  let [rest, prefix] = [value, ''];
  for (const next of prefixes) {
    if (Math.abs(rest) < by) break;
    [rest, prefix] = [rest / by, next];
  }
  return short(rest) + prefix;
}

/** Multiplies a number until it reaches 1, and appends the metric prefix. */
function shortenSmall(value: number): string {
  let [rest, prefix] = [value, ''];
  for (const next of SMALL) {
    if (Math.abs(rest) >= 1) break;
    [rest, prefix] = [rest * 1000, next];
  }
  return short(rest) + prefix;
}

/** Formats a number with four digits and a metric prefix: 1234567 gives `1.235M`. */
export function humanize(value: number): string {
  if (value === 0 || !Number.isFinite(value)) return short(value);
  return Math.abs(value) < 1 ? shortenSmall(value) : shortenLarge(value, LARGE, 1000);
}

/** Formats a number with four digits and a binary prefix: 1048576 gives `1Mi`. */
export function humanize1024(value: number): string {
  if (Math.abs(value) <= 1 || !Number.isFinite(value)) return short(value);
  return shortenLarge(value, BINARY, 1024);
}

/**
 * Formats a number of seconds in days, hours, minutes and seconds: 135.3563 gives `2m 15s`. A value below a
 * minute has four digits (`12.35s`), and a value below a second also has a metric prefix (`12ms`).
 */
export function humanizeDuration(value: number): string {
  if (!Number.isFinite(value)) return short(value);
  if (value === 0) return `${short(value)}s`;
  if (Math.abs(value) < 1) return `${shortenSmall(value)}s`;
  const sign = value < 0 ? '-' : '';
  const magnitude = Math.abs(value);
  if (magnitude < 60) return `${sign}${short(magnitude)}s`;
  const total = BigInt(Math.trunc(magnitude));
  const [days, hours, minutes, seconds] = [
    total / 86_400n,
    (total / 3600n) % 24n,
    (total / 60n) % 60n,
    total % 60n,
  ];
  if (days > 0n) return `${sign}${days}d ${hours}h ${minutes}m ${seconds}s`;
  if (hours > 0n) return `${sign}${hours}h ${minutes}m ${seconds}s`;
  return `${sign}${minutes}m ${seconds}s`;
}

/** Formats a ratio as a percentage with up to four significant digits: 0.959 gives `95.9%`. */
export function humanizePercentage(value: number): string {
  return `${short(value * 100)}%`;
}

/** Formats Unix seconds as a time: `2015-06-23 13:19:44.128 +0000 UTC`. */
export function humanizeTimestamp(value: number): string {
  return Number.isFinite(value) ? timeOf(value).toString() : short(value);
}
