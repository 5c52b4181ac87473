import { METRIC_NAME } from '../../shared/model/labels';

/** A sample with all labels of its series, `__name__` included. */
export interface ImportSample {
  readonly labels: Readonly<Record<string, string>>;
  /** ms since epoch. */
  readonly timestamp: number;
  readonly value: number;
}

/** A field of a file cannot be used. The message has the place, the field, its value and what is allowed. */
export class InvalidFieldError extends Error {
  override readonly name = 'InvalidFieldError';
}

/** Which columns of a file say what. */
export interface Mapping {
  readonly time: readonly string[];
  /** The metric's name. */
  readonly name: readonly string[];
  /** The first of these that has something. */
  readonly value: readonly string[];
  /** Columns that are metrics of their own, by the metric's name: wide rows. */
  readonly metrics: ReadonlyMap<string, string>;
  /** Labels as a JSON object, as the archive's own files have them. */
  readonly labels: readonly string[];
  /** Column -> label; other columns are labels of their own name. */
  readonly renamed: ReadonlyMap<string, string>;
  readonly ignored: ReadonlySet<string>;
  /** Labels that every sample has. */
  readonly constants: Readonly<Record<string, string>>;
}

/** Names that columns have in our archive, Prometheus' and Timestream's exports. */
const DEFAULTS = {
  time: ['timestamp', 'time', 'ts'],
  name: ['name', METRIC_NAME, 'metric', 'measure_name'],
  value: ['value', 'measure_value::double', 'measure_value::bigint', 'measure_value::boolean'],
  labels: ['labels'],
};

/**
 * Reads `--map` options: `time=COLUMN`, `name=COLUMN`, `value=COLUMN`, `labels=COLUMN`, `metric:NAME=COLUMN`,
 * `label:NAME=COLUMN`, `const:NAME=TEXT`, `ignore=COLUMN`.
 *
 * @throws {RangeError} for anything else
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
 * The samples of a row: one, or one of each metric of a wide row. Empty metrics are left out.
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
      return Object.entries(labels).map(([name, value]) => [name, textOf(value)]);
  } catch {
    // Named below.
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

/** Reads a number as Prometheus and CSV files write it: `1e3`, `NaN`, `+Inf`; also `true` and `false`. */
export function parseValue(text: string): number | undefined {
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
  const word = /^([+-]?)(nan|inf|infinity|true|false)$/i.exec(text);
  if (word === null) return undefined;
  const [, sign, name] = word;
  const values: Record<string, number> = { nan: Number.NaN, true: 1, false: 0 };
  const value = values[name!.toLowerCase()] ?? Number.POSITIVE_INFINITY;
  return sign === '-' ? -value : value;
}

/** Numbers of epoch seconds, ms, us and ns of our time are a thousandfold apart: the largest s, ms and us. */
const LARGEST = [1e11, 1e14, 1e17];

function timeOf(at: string, column: string, field: unknown): number {
  if (field instanceof Date && !Number.isNaN(field.getTime())) return field.getTime();
  const ms =
    typeof field === 'number' || typeof field === 'bigint'
      ? epochMs(field)
      : typeof field === 'string'
        ? parseTimeText(field.trim())
        : undefined;
  if (ms === undefined)
    throw new InvalidFieldError(
      `${at}: ${column} is ${shown(field)}, an ISO time or epoch seconds, ms, us or ns are expected`,
    );
  return ms;
}

/** A number of epoch seconds, ms, us or ns, by its size. */
export function epochMs(time: number | bigint): number | undefined {
  const number = Number(time);
  if (!Number.isFinite(number)) return undefined;
  const unit = LARGEST.findIndex((largest) => Math.abs(number) < largest);
  if (unit === -1) return Number(BigInt(time) / 1_000_000n);
  // Seconds with a fraction are rounded, as 1700000000.123 s are not exactly 1,700,000,000,123 ms.
  return [Math.round(number * 1000), Math.floor(number), Math.floor(number / 1000)][unit];
}

/** ISO, or Timestream's `2026-11-21 08:00:00.000000000`; UTC unless it says else. */
function parseTimeText(text: string): number | undefined {
  if (/^-?\d+$/.test(text)) return epochMs(BigInt(text));
  if (/^-?\d+\.\d+$/.test(text)) return epochMs(Number(text));
  const [, date, time = '00:00:00', , fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(:\d\d)?)(\.\d+)?)? ?(Z|UTC|[+-]\d\d:?\d\d)?$/.exec(text) ?? [];
  if (date === undefined) return undefined;
  const ms = Date.parse(`${date}T${time}${fraction.slice(0, 4)}${zone === 'UTC' ? 'Z' : zone}`);
  return Number.isNaN(ms) ? undefined : ms;
}

function shown(field: unknown): string {
  const text = typeof field === 'bigint' ? String(field) : (JSON.stringify(field) ?? String(field));
  return text.length > 60 ? `${text.slice(0, 60)}...` : text;
}
