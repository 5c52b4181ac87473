import { METRIC_NAME } from '../../shared/model/labels';

/** A sample with all labels of its series, including `__name__`. */
export interface ImportSample {
  readonly labels: Readonly<Record<string, string>>;
  /** Unix time in ms. */
  readonly timestamp: number;
  readonly value: number;
}

/** A field of a file is invalid. The message names the place and the field, its value and the allowed values. */
export class InvalidFieldError extends Error {
  override readonly name = 'InvalidFieldError';
}

/** Assignment of a file's columns to fields. */
export interface Mapping {
  readonly time: readonly string[];
  /** The metric's name. */
  readonly name: readonly string[];
  /** Candidate columns for the value; the first non-empty one is used. */
  readonly value: readonly string[];
  /** Columns that each contain a metric, with the metric's name (wide rows). */
  readonly metrics: ReadonlyMap<string, string>;
  /** Columns that contain labels as a JSON object, as in the archive's own files. */
  readonly labels: readonly string[];
  /** Label names by column. Any other column becomes a label with the column's name. */
  readonly renamed: ReadonlyMap<string, string>;
  readonly ignored: ReadonlySet<string>;
  /** Labels that are added to every sample. */
  readonly constants: Readonly<Record<string, string>>;
}

/** Column names in this project's archive and in exports of Prometheus and Timestream. */
const DEFAULTS = {
  time: ['timestamp', 'time', 'ts'],
  name: ['name', METRIC_NAME, 'metric', 'measure_name'],
  value: ['value', 'measure_value::double', 'measure_value::bigint', 'measure_value::boolean'],
  labels: ['labels'],
};

/**
 * Parses `--map` options: `time=COLUMN`, `name=COLUMN`, `value=COLUMN`, `labels=COLUMN`,
 * `metric:NAME=COLUMN`, `label:NAME=COLUMN`, `const:NAME=TEXT`, `ignore=COLUMN`.
 *
 * @throws {RangeError} for any other text
 */
export function parseMapping(options: readonly string[]): Mapping {
  const columns = {
    time: [] as string[],
    name: [] as string[],
    value: [] as string[],
    labels: [] as string[],
  };
  const metrics = new Map<string, string>();
  const renamed = new Map<string, string>();
  const ignored = new Set<string>();
  const constants: [string, string][] = [];
  for (const option of options) {
    const [, field = '', , label = '', text = ''] = /^([a-z]+)(:([^=]+))?=(.+)$/s.exec(option) ?? [];
    if (label === '' && Object.hasOwn(columns, field)) columns[field as keyof typeof columns].push(text);
    else if (label === '' && field === 'ignore') ignored.add(text);
    else if (label !== '' && field === 'metric') metrics.set(text, label);
    else if (label !== '' && field === 'label') renamed.set(text, label);
    else if (label !== '' && field === 'const') constants.push([label, text]);
    else
      throw new RangeError(
        `${option}: give time=COLUMN, name=COLUMN, value=COLUMN, labels=COLUMN, metric:NAME=COLUMN, label:NAME=COLUMN, ` +
          'const:NAME=TEXT or ignore=COLUMN',
      );
  }
  const or = (given: readonly string[], defaults: readonly string[]) => (given.length > 0 ? given : defaults);
  return {
    time: or(columns.time, DEFAULTS.time),
    name: or(columns.name, DEFAULTS.name),
    value: or(columns.value, DEFAULTS.value),
    labels: or(columns.labels, DEFAULTS.labels),
    metrics,
    renamed,
    ignored,
    constants: Object.fromEntries(constants),
  };
}

/**
 * Returns the samples of a row: one, or one for each metric of a wide row. Empty metrics are skipped.
 *
 * @throws {InvalidFieldError}
 */
export function samplesOfRow(
  at: string,
  fields: Readonly<Record<string, unknown>>,
  mapping: Mapping,
): ImportSample[] {
  const columns = Object.keys(fields);
  const first = (names: readonly string[]) =>
    names.find((name) => Object.hasOwn(fields, name) && isFilled(fields[name]));
  const timeColumn = first(mapping.time);
  if (timeColumn === undefined)
    throw new InvalidFieldError(
      `${at}: no time in ${mapping.time.join(', ')}; name its column with --map time=COLUMN`,
    );
  const timestamp = timeOf(at, timeColumn, fields[timeColumn]);
  const labels: [string, string][] = [];
  const used = new Set([
    ...mapping.time,
    ...mapping.name,
    ...mapping.value,
    ...mapping.labels,
    ...mapping.metrics.keys(),
    ...mapping.ignored,
  ]);
  const labelsColumn = first(mapping.labels);
  if (labelsColumn !== undefined) labels.push(...jsonLabels(at, labelsColumn, fields[labelsColumn]));
  for (const column of columns)
    if (!used.has(column) && isFilled(fields[column]))
      labels.push([mapping.renamed.get(column) ?? column, textOf(fields[column])]);
  labels.push(...Object.entries(mapping.constants));
  const sample = (name: string, column: string): ImportSample => ({
    labels: Object.fromEntries([...labels, [METRIC_NAME, name]]),
    timestamp,
    value: numberOf(at, column, fields[column]),
  });
  if (mapping.metrics.size > 0)
    return [...mapping.metrics]
      .filter(([column]) => isFilled(fields[column]))
      .map(([column, name]) => sample(name, column));
  const nameColumn = first(mapping.name);
  const name = nameColumn === undefined ? mapping.constants[METRIC_NAME] : textOf(fields[nameColumn]);
  if (name === undefined)
    throw new InvalidFieldError(
      `${at}: no metric's name in ${mapping.name.join(', ')}; give --map name=COLUMN, --map const:${METRIC_NAME}=NAME, ` +
        'or --map metric:NAME=COLUMN for each column of values',
    );
  const valueColumn = first(mapping.value);
  if (valueColumn === undefined)
    throw new InvalidFieldError(
      `${at}: no value in ${mapping.value.join(', ')}; name its column with --map value=COLUMN`,
    );
  return [sample(name, valueColumn)];
}

function isFilled(field: unknown): boolean {
  return field !== undefined && field !== null && field !== '' && field !== '-';
}

function textOf(field: unknown): string {
  if (field instanceof Date) return field.toISOString();
  return typeof field === 'object' ? JSON.stringify(field) : String(field);
}

function jsonLabels(at: string, column: string, field: unknown): [string, string][] {
  try {
    const labels = typeof field === 'string' ? JSON.parse(field) : field;
    if (typeof labels === 'object' && labels !== null && !Array.isArray(labels))
      return Object.entries(labels).flatMap(([name, value]) =>
        value === null ? [] : [[name, textOf(value)]],
      );
  } catch {
    // Ignore this error, because the error below names the field.
  }
  throw new InvalidFieldError(`${at}: ${column} is ${shown(field)}, a JSON object of labels is expected`);
}

function numberOf(at: string, column: string, field: unknown): number {
  if (typeof field === 'number') return field;
  if (typeof field === 'bigint') return Number(field);
  if (typeof field === 'boolean') return field ? 1 : 0;
  const number = typeof field === 'string' ? parseValue(field.trim()) : undefined;
  if (number === undefined)
    throw new InvalidFieldError(`${at}: ${column} is ${shown(field)}, a number is expected`);
  return number;
}

/**
 * Parses a number as it is written in Prometheus' and CSV files: `1e3`, `NaN`, `+Inf`; `true` is 1 and `false` is 0.
 */
export function parseValue(text: string): number | undefined {
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
  const word = /^([+-]?)(nan|inf|infinity|true|false)$/i.exec(text);
  if (word === null) return undefined;
  const [, sign, name] = word;
  const values: Record<string, number> = { nan: Number.NaN, true: 1, false: 0 };
  const value = values[name!.toLowerCase()] ?? Number.POSITIVE_INFINITY;
  return sign === '-' ? -value : value;
}

/**
 * A number below the first limit is read as Unix time in s, below the second in ms, and below the third in us. For
 * times of this century, the numbers in these units differ by factors of a thousand.
 */
const LARGEST = [1e11, 1e14, 1e17];

function timeOf(at: string, column: string, field: unknown): number {
  if (field instanceof Date && !Number.isNaN(field.getTime())) return field.getTime();
  const ms =
    typeof field === 'number' || typeof field === 'bigint'
      ? unixMsOf(field)
      : typeof field === 'string'
        ? parseTimeText(field.trim())
        : undefined;
  if (ms === undefined)
    throw new InvalidFieldError(
      `${at}: ${column} is ${shown(field)}, an ISO time or Unix time in s, ms, us or ns is expected`,
    );
  return ms;
}

/** Converts a Unix time in s, ms, us or ns to ms. The size of the number determines its unit. */
export function unixMsOf(time: number | bigint): number | undefined {
  const number = Number(time);
  if (!Number.isFinite(number)) return undefined;
  const unit = LARGEST.findIndex((largest) => Math.abs(number) < largest);
  if (unit === -1) return Number(BigInt(time) / 1_000_000n);
  // Round fractional seconds: as a float64, 1700000000.123 s is not exactly 1,700,000,000,123 ms.
  return [Math.round(number * 1000), Math.floor(number), Math.floor(number / 1000)][unit];
}

/** Parses ISO times and Timestream's `2026-11-21 08:00:00.000000000`. Times without a zone are UTC. */
function parseTimeText(text: string): number | undefined {
  if (/^-?\d+$/.test(text)) return unixMsOf(BigInt(text));
  if (/^-?\d+\.\d+$/.test(text)) return unixMsOf(Number(text));
  const [, date, time = '00:00:00', , fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(:\d\d)?)(\.\d+)?)? ?(Z|UTC|[+-]\d\d:?\d\d)?$/.exec(text) ?? [];
  if (date === undefined) return undefined;
  const ms = Date.parse(`${date}T${time}${fraction.slice(0, 4)}${zone === 'UTC' ? 'Z' : zone}`);
  return Number.isNaN(ms) ? undefined : ms;
}

function shown(field: unknown): string {
  // JSON has neither infinity nor NaN.
  const isNumber = typeof field === 'bigint' || typeof field === 'number';
  const text = isNumber ? String(field) : (JSON.stringify(field) ?? String(field));
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
