import { type Labels, labelsOf, METRIC_NAME } from '../model/labels';
import { unquote } from './lexer';
import { STALE_BITS } from './memory-store';

/**
 * Prometheus' notation for series in unit tests: `up{job="a"} 0+1x5 _ stale`.
 *
 * @see https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/#series
 */

/** The text is not a valid series, or not valid values. */
export class SeriesNotationError extends Error {
  override readonly name = 'SeriesNotationError';
}

const NUMBER = String.raw`(?:\d[\d_]*\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?|inf|nan|0x[\da-f]+)`;
const ITEM = new RegExp(`^([+-]?${NUMBER})(?:([+-]${NUMBER})?x(\\d+))?$`, 'i');
const LABEL =
  /\s*(?:([A-Za-z_]\w*)|("(?:[^"\\]|\\.)*"))\s*(?:=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`))?\s*,?\s*/y;

/** Maximum number of values of one series. Limited because a short item such as `1x1000000` expands to many values. */
const MAX_VALUES = 1_000_000;

/**
 * Parses the metric name and labels at the start of a text.
 *
 * @returns the labels, including the name, and the rest of the text, trimmed
 * @throws {SeriesNotationError}
 */
export function parseMetric(text: string): { readonly labels: Labels; readonly rest: string } {
  const pairs = new Map<string, string>();
  const set = (name: string, value: string) => {
    if (pairs.has(name))
      throw new SeriesNotationError(`label ${JSON.stringify(name)} occurs twice in ${text}`);
    pairs.set(name, value);
  };
  const name = /^[A-Za-z_:][\w:]*/.exec(text)?.[0] ?? '';
  if (name !== '') set(METRIC_NAME, name);
  let at = name.length;
  if (text[at] === '{' && text[at + 1] !== '{') {
    LABEL.lastIndex = at + 1;
    for (at++; text[at] !== '}'; at = LABEL.lastIndex) {
      const found = LABEL.exec(text);
      if (found === null || found[0] === '')
        throw new SeriesNotationError(`cannot read the labels of ${JSON.stringify(text.slice(0, 200))}`);
      const [, bare, quotedName, value] = found;
      const key = bare ?? unquote(quotedName!) ?? '';
      if (value === undefined) set(METRIC_NAME, key);
      else set(key, unquote(value) ?? '');
    }
    at++;
  }
  const labels = labelsOf(...[...pairs].filter(([, value]) => value !== ''));
  return { labels, rest: text.slice(at).trim() };
}

/**
 * Parses the values of a series, one per step: a number, the bits of a stale marker, or undefined for a
 * missing value.
 *
 * @throws {SeriesNotationError}
 */
export function parseValues(text: string): (number | bigint | undefined)[] {
  const values: (number | bigint | undefined)[] = [];
  const reserve = (count: number) => {
    if (values.length + count > MAX_VALUES)
      throw new SeriesNotationError(`a series has more than ${MAX_VALUES} values`);
  };
  for (const item of text.split(/\s+/)) {
    if (item === '') continue;
    const gap = /^_(?:x(\d+))?$/.exec(item);
    const stale = /^stale(?:x(\d+))?$/.exec(item);
    if (gap !== null) {
      const count = Number(gap[1] ?? 1);
      reserve(count);
      for (let i = 0; i < count; i++) values.push(undefined);
    } else if (stale !== null) {
      const count = Number(stale[1] ?? 0) + 1;
      reserve(count);
      for (let i = 0; i < count; i++) values.push(STALE_BITS);
    } else {
      const [, first, by, times] = ITEM.exec(item) ?? [];
      if (first === undefined) throw new SeriesNotationError(`not a value: ${JSON.stringify(item)}`);
      const count = Number(times ?? 0) + 1;
      reserve(count);
      let value = parseSampleValue(first);
      for (let i = 0; i < count; i++) {
        values.push(value);
        value += by === undefined ? 0 : parseSampleValue(by);
      }
    }
  }
  return values;
}

/** Reads one value, such as `-1.5e3`, `+Inf` or `0x10`. */
export function parseSampleValue(text: string): number {
  const [, sign, magnitude = ''] = /^([+-]?)(.*)$/.exec(text)!;
  const value = /^inf$/i.test(magnitude) ? Number.POSITIVE_INFINITY : Number(magnitude.replaceAll('_', ''));
  return sign === '-' ? -value : value;
}

/**
 * Returns whether values contain native histograms or start timestamps, which the database does not store.
 */
export function hasNativeHistograms(values: string): boolean {
  return values.includes('{{') || values.startsWith('@');
}
