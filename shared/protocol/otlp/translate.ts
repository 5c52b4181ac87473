import { METRIC_NAME } from '../../model/labels';
import type { Attribute, AttributeValue } from './metrics';

/**
 * Converts OpenTelemetry names to Prometheus names, by the default translation.
 *
 * @see
 *   https://github.com/open-telemetry/opentelemetry-specification/blob/main/specification/compatibility/prometheus_and_openmetrics.md
 */

const UNITS: Readonly<Record<string, string>> = {
  d: 'days',
  h: 'hours',
  min: 'minutes',
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  ns: 'nanoseconds',
  By: 'bytes',
  KiBy: 'kibibytes',
  MiBy: 'mebibytes',
  GiBy: 'gibibytes',
  TiBy: 'tebibytes',
  KBy: 'kilobytes',
  MBy: 'megabytes',
  GBy: 'gigabytes',
  TBy: 'terabytes',
  m: 'meters',
  V: 'volts',
  A: 'amperes',
  J: 'joules',
  W: 'watts',
  g: 'grams',
  Cel: 'celsius',
  Hz: 'hertz',
  '1': '',
  '%': 'percent',
};

/** Names of units after a slash. */
const PER_UNITS: Readonly<Record<string, string>> = {
  s: 'second',
  m: 'minute',
  h: 'hour',
  d: 'day',
  w: 'week',
  mo: 'month',
  y: 'year',
};

/** The properties of a metric that determine its name in Prometheus. */
export interface NamedMetric {
  readonly name: string;
  readonly unit: string;
  readonly kind: string;
  readonly isMonotonic?: boolean;
}

/** Returns the metric's name in Prometheus; empty when the sender's name has no letter or digit. */
export function metricName({ name, unit, kind, isMonotonic = false }: NamedMetric): string {
  let tokens = tokensOf(name);
  for (const token of unitTokens(unit)) if (!tokens.includes(token)) tokens.push(token);
  const suffix = isMonotonic ? 'total' : kind === 'gauge' && unit === '1' ? 'ratio' : undefined;
  if (suffix !== undefined) tokens = [...tokens.filter((token) => token !== suffix), suffix];
  const joined = tokens.join('_');
  return /^[0-9]/.test(joined) ? `_${joined}` : joined;
}

function tokensOf(text: string): string[] {
  return text.split(/[^a-zA-Z0-9:]+/).filter((token) => token !== '');
}

/** Splits a unit into tokens: `By/s` gives `bytes` and `per_second`. Annotations in braces are ignored. */
function unitTokens(unit: string): string[] {
  const [main = '', ...per] = unit.split('/');
  const tokens: string[] = [];
  if (!main.includes('{')) tokens.push(...tokensOf(lookUp(UNITS, main.trim())));
  const divisor = per.join('/').trim();
  if (divisor !== '' && !divisor.includes('{')) {
    const [token] = [tokensOf(lookUp(PER_UNITS, divisor)).join('_')];
    if (token !== '' && token !== undefined) tokens.push(`per_${token}`);
  }
  return tokens;
}

function lookUp(table: Readonly<Record<string, string>>, unit: string): string {
  return Object.hasOwn(table, unit) ? table[unit]! : unit;
}

/** Returns an attribute together with the label that is made from it. */
export function attributeOf(name: string, value: AttributeValue): Attribute {
  const label = labelName(name);
  const text = attributeText(value);
  const isLabel = text !== '' && label !== '' && label !== METRIC_NAME;
  return { name, value, label: isLabel ? [label, text] : undefined };
}

/**
 * Converts the name of an attribute to the name of a label. Names that differ only in characters not allowed in labels
 * become equal.
 */
export function labelName(attribute: string): string {
  const name = attribute.replace(/[^a-zA-Z0-9_]/gu, '_');
  if (/^[0-9]/.test(name)) return `key_${name}`;
  return name.startsWith('_') && !name.startsWith('__') ? `key${name}` : name;
}

/** Returns the value of an integer attribute. Beyond 2^53 it is a string, because a float64 would lose digits. */
export function integerValue(value: bigint): AttributeValue {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/**
 * Converts an attribute's value to the value of a label. Returns an empty string if the label is to be omitted.
 * OpenTelemetry writes a float64 as JavaScript does (`AsString` of its package pcommon).
 */
export function attributeText(value: AttributeValue): string {
  return value === undefined ? '' : String(value);
}

/** Formats a histogram's bound for the label `le`: plain decimals, never an exponent. */
export function boundText(bound: number): string {
  if (bound === Infinity) return '+Inf';
  if (bound === -Infinity) return '-Inf';
  const [digits = '', exponent] = String(bound).split('e');
  if (exponent === undefined) return digits;
  const sign = digits.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = digits.replace('-', '').split('.');
  const shift = Number(exponent);
  if (shift < 0) return `${sign}0.${'0'.repeat(-shift - whole.length)}${whole}${fraction}`;
  return `${sign}${whole}${fraction}${'0'.repeat(shift - fraction.length)}`;
}
