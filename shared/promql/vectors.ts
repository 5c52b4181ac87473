import { type Labels, labelsKey, labelValue, METRIC_NAME } from '../model/labels';
import { PromqlError, TooManyValuesError } from './errors';

/** Times at which an expression is evaluated: `startMs`, then every `stepMs`, in ms. */
export interface Steps {
  readonly startMs: number;
  readonly stepMs: number;
  /** Number of steps: at least 1, or 0 if a subquery's range contains no step. */
  readonly count: number;
}

/** Instant vectors at all steps. Each series has a row, with a value for each step at which the series has one. */
export interface Vectors {
  readonly steps: number;
  readonly labels: Labels[];
  /** Row by row: the value of row r at step s is at index `r * steps + s`. */
  readonly values: Float64Array;
  /** 1 where there is a value, else 0. */
  readonly present: Uint8Array;
}

export function emptyVectors(steps: number): Vectors {
  return { steps, labels: [], values: new Float64Array(0), present: new Uint8Array(0) };
}

/**
 * Maximum total length, in characters, of the label values that functions create in one evaluation. Without this limit,
 * a few nested functions that each double a label would exceed any memory.
 */
const MAX_TEXT = 32_000_000;

/**
 * Number of values that are computed between two checks of the time limit. In a subquery, a single series may have
 * millions of steps.
 */
export const VALUES_PER_CHECK = 4_096;

/** Limits the memory and time of one evaluation. */
export class Budget {
  private liveValues = 0;
  private text = 0;
  /** The largest number of values that vectors and scalars held at any one time. */
  peakValues = 0;

  /**
   * @param maxValues maximum number of values in vectors and scalars at one time; each takes 9 bytes
   * @param isLate returns whether the time is up
   */
  constructor(
    private readonly maxValues: number,
    private readonly isLate: () => boolean,
  ) {}

  /** @throws {PromqlError} when the vectors would exceed the limit */
  vectors(labels: Labels[], steps: number): Vectors {
    const count = labels.length * steps;
    this.hold(count);
    return { steps, labels, values: new Float64Array(count), present: new Uint8Array(count) };
  }

  /**
   * Counts values before they are allocated. Even without any series, there can be too many: a subquery over constants
   * can have billions of steps.
   *
   * @throws {PromqlError} when the values would exceed the limit
   */
  hold(count: number): void {
    this.liveValues += count;
    this.peakValues = Math.max(this.peakValues, this.liveValues);
    if (this.liveValues > this.maxValues) throw new TooManyValuesError(this.maxValues);
  }

  /**
   * Counts the text of a part of a label value before a function creates the value. The part counts until the
   * evaluation ends, because results share their labels.
   *
   * @param length in characters
   * @throws {PromqlError} when the total length of the label values that functions create would exceed the limit
   */
  holdText(length: number): void {
    this.text += length;
    if (this.text > MAX_TEXT)
      throw new PromqlError(
        'execution',
        `label_replace and label_join make label values of more than ${MAX_TEXT} characters in total; make shorter ones, or select fewer series`,
      );
  }

  /**
   * Runs a part of the evaluation. Afterwards, all values that the part allocated count as freed, except those of its
   * result.
   */
  scope<T>(run: () => T, valuesOf: (result: T) => number): T {
    this.checkTime();
    const before = this.liveValues;
    const result = run();
    this.liveValues = before + valuesOf(result);
    return result;
  }

  /** Checks whether the time is up. Call it once per few thousand values of work. */
  checkTime(): void {
    if (this.isLate()) throw new PromqlError('timeout', 'query timed out in expression evaluation');
  }
}

/** Builds vectors a row at a time, leaving out rows without any value. */
export class Rows {
  private readonly labels: Labels[] = [];
  private readonly result: Vectors;
  private offset = 0;

  constructor(budget: Budget, maxRows: number, steps: number) {
    this.result = budget.vectors(new Array(maxRows), steps);
  }

  /** The arrays to fill for the next row, from index `offset` on. */
  get next(): { readonly values: Float64Array; readonly present: Uint8Array; readonly offset: number } {
    return { values: this.result.values, present: this.result.present, offset: this.offset };
  }

  /** Keeps the row just written, or discards it if it is empty. */
  end(labels: Labels, isEmpty: boolean): void {
    if (isEmpty) return;
    this.labels.push(labels);
    this.offset += this.result.steps;
  }

  vectors(): Vectors {
    return {
      steps: this.result.steps,
      labels: this.labels,
      values: this.result.values.subarray(0, this.offset),
      present: this.result.present.subarray(0, this.offset),
    };
  }
}

/** Labels that describe a metric. Most functions and operators remove them. */
const METADATA: ReadonlySet<string> = new Set([METRIC_NAME, '__type__', '__unit__']);

export function withoutName(labels: Labels): Labels {
  return labels.some(([name]) => METADATA.has(name))
    ? labels.filter(([name]) => !METADATA.has(name))
    : labels;
}

/** Sets labels. An empty value removes a label. */
export function withLabels(labels: Labels, changes: ReadonlyMap<string, string>): Labels {
  const rest = labels.filter(([name]) => !changes.has(name));
  const added = [...changes].filter(([, value]) => value !== '');
  return [...rest, ...added].sort(([a], [b]) => (a < b ? -1 : 1));
}

const SAME_LABELS = 'vector cannot contain metrics with the same labelset';

/**
 * Merges rows with the same labels into one.
 *
 * @throws {PromqlError} when two such rows have a value at the same step
 */
export function mergeSameLabels(vectors: Vectors): Vectors {
  const rows = new Map<string, number>();
  const target = vectors.labels.map((labels, row) => {
    const key = labelsKey(labels);
    const first = rows.get(key);
    if (first !== undefined) return first;
    rows.set(key, row);
    return row;
  });
  if (rows.size === vectors.labels.length) return vectors;
  const { steps, values, present } = vectors;
  for (const [row, first] of target.entries()) {
    if (row === first) continue;
    for (let step = 0; step < steps; step++) {
      const [from, to] = [row * steps + step, first * steps + step];
      if (present[from] === 0) continue;
      if (present[to] === 1) throw new PromqlError('execution', SAME_LABELS);
      values[to] = values[from]!;
      present[to] = 1;
    }
  }
  return pickRows(vectors, (row) => target[row] === row);
}

/** Returns whether all series have the same metric name, so that their labels still differ without the name. */
export function stayDistinct(series: readonly { readonly labels: Labels }[]): boolean {
  const name = series.length === 0 ? undefined : labelValue(series[0]!.labels, METRIC_NAME);
  return series.every(
    ({ labels }) =>
      labelValue(labels, METRIC_NAME) === name &&
      labels.every(([label]) => label === METRIC_NAME || !METADATA.has(label)),
  );
}

/** @throws {PromqlError} when two rows have the same labels, even at different steps */
export function requireDistinctLabels(vectors: Vectors): Vectors {
  if (new Set(vectors.labels.map(labelsKey)).size < vectors.labels.length)
    throw new PromqlError('execution', SAME_LABELS);
  return vectors;
}

/** Keeps only the rows for which `isKept` returns true, in place. */
function pickRows({ steps, labels, values, present }: Vectors, isKept: (row: number) => boolean): Vectors {
  const kept: Labels[] = [];
  for (const [row, each] of labels.entries()) {
    if (!isKept(row)) continue;
    const to = kept.length * steps;
    values.copyWithin(to, row * steps, (row + 1) * steps);
    present.copyWithin(to, row * steps, (row + 1) * steps);
    kept.push(each);
  }
  const count = kept.length * steps;
  return { steps, labels: kept, values: values.subarray(0, count), present: present.subarray(0, count) };
}

/** Sorts series in the order of {@link compareLabelBytes}. For most series, one string comparison suffices. */
export function sortByLabels<T extends { readonly labels: Labels }>(series: readonly T[]): T[] {
  const keyed = series.map((each) => ({ each, key: sortKey(each.labels) }));
  keyed.sort((a, b) => {
    if (a.key === undefined || b.key === undefined) return compareLabelBytes(a.each.labels, b.each.labels);
    return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
  });
  return keyed.map(({ each }) => each);
}

/** Matches the separator of sort keys, and the characters whose order may differ between UTF-16 and UTF-8. */
const UNORDERED = /[\0\ud800-\uffff]/;

/** Returns a string that sorts as the labels do; undefined if a label has a character of {@link UNORDERED}. */
function sortKey(labels: Labels): string | undefined {
  let key = '';
  for (const [name, value] of labels) {
    if (UNORDERED.test(name) || UNORDERED.test(value)) return undefined;
    key += `${name}\0${value}\0`;
  }
  return key;
}

/** Compares label sets by names and values, in byte order of UTF-8. */
export function compareLabelBytes(a: Labels, b: Labels): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareBytes(a[i]![0], b[i]![0]) || compareBytes(a[i]![1], b[i]![1]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/**
 * Compares strings in the byte order of UTF-8. This order differs from that of UTF-16 only between surrogates and the
 * last characters of the basic plane.
 */
export function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x === y) continue;
    const [xPlane, yPlane] = [isSurrogate(x), isSurrogate(y)];
    return xPlane === yPlane ? x - y : xPlane ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
