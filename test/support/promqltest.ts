import { type Labels, labelsKey, METRIC_NAME } from '../../shared/model/labels';
import { seriesTest } from '../../shared/model/matcher';
import { PromqlError } from '../../shared/promql/errors';
import { unquote } from '../../shared/promql/lexer';
import { parseDurationMs } from '../../shared/promql/numbers';
import { parsePromql } from '../../shared/promql/parser';
import { printPromql } from '../../shared/promql/print';
import {
  instantQuery,
  type QueryOptions,
  type QueryResult,
  type ResultSeries,
  rangeQuery,
} from '../../shared/promql/query';
import {
  hasNativeHistograms,
  parseMetric,
  parseSampleValue,
  parseValues,
} from '../../shared/promql/series-notation';
import { RolledStore } from './rolled-store';

/**
 * Runs files of Prometheus' test language. All samples have rollups of hours and days.
 *
 * @see https://github.com/prometheus/prometheus/blob/main/promql/promqltest/README.md
 */

/** The outcome of one `eval`. */
export interface EvalOutcome {
  readonly line: number;
  readonly text: string;
  /** The reason why the case was skipped; undefined if it was run. */
  readonly skipped?: string;
  /** How the answer differs from the expected one; undefined if it does not. */
  readonly failure?: string;
}

interface Expectation {
  fails: boolean;
  message?: string;
  pattern?: string;
  ordered: boolean;
  annotations: string[];
  series: { labels: Labels; text: string }[];
  scalar?: number;
  string?: string;
  matrix?: { fromMs: number; stepMs: number };
}

const OPTIONS: QueryOptions = {
  limits: { maxSeries: 10_000, maxSamples: 10_000_000, maxValues: 10_000_000 },
  isLate: () => false,
  rollups: { grainsMs: [3_600_000, 86_400_000], leastRangeMs: 0 },
};

/**
 * Patterns of errors, each with the reason why the case is skipped. The features that cause these errors are behind
 * flags, need data that is not stored, or have a different default here.
 */
const UNSUPPORTED: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/experimental and not supported/, 'experimental feature'],
  [/needs native histograms/, 'native histograms or start timestamps'],
  [/unexpected character: "\/"|unexpected "\/"/, 'native histograms or start timestamps'],
];

class Histograms extends RolledStore {
  /** Series of native histograms and series with start timestamps, whose samples are not stored. */
  readonly native: Labels[] = [];
  wasTouched = false;

  override select(...asked: Parameters<RolledStore['select']>) {
    if (this.native.some(seriesTest(asked[0]))) this.wasTouched = true;
    return super.select(...asked);
  }
}

export async function runPromqlTest(text: string): Promise<EvalOutcome[]> {
  const lines = text.split('\n').map((line) => line.replace(/^\s*#.*$/, '').trim());
  const outcomes: EvalOutcome[] = [];
  let store = new Histograms();
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!;
    const load = /^load(_with_nhcb)?\s+(\S+)/.exec(line);
    const instant = /^eval(?:_(fail|warn|ordered|info))?\s+instant\s+(?:at\s+(\S+))?\s+(.+)$/.exec(line);
    const range =
      /^eval(?:_(fail|warn|info))?\s+range\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)\s+(.+)$/.exec(line);
    const first = at++;
    // A blank line ends a command.
    const body: string[] = [];
    while (load !== null || instant !== null || range !== null) {
      const next = lines[at];
      if (next === undefined || next === '') break;
      body.push(next);
      at++;
    }
    if (line === 'clear') store = new Histograms();
    else if (load !== null) loadSeries(store, msOf(load[2]!), body, load[1] !== undefined);
    else if (instant !== null) {
      const [, mode, time, expr] = instant;
      outcomes.push(await evalInstant(store, first + 1, expr!, msOf(time ?? '0'), expectationOf(mode, body)));
    } else if (range !== null) {
      const [, mode, from, to, step, expr] = range;
      const times = { startMs: msOf(from!), endMs: msOf(to!), stepMs: msOf(step!) };
      outcomes.push(await evalRange(store, first + 1, expr!, times, expectationOf(mode, body)));
    }
  }
  return outcomes;
}

function msOf(text: string): number {
  if (/^-?[\d.]+$/.test(text)) return Number(text) * 1000;
  const ms = text.startsWith('-') ? parseDurationMs(text.slice(1)) : parseDurationMs(text);
  if (typeof ms === 'string') throw new Error(ms);
  return text.startsWith('-') ? -ms : ms;
}

function loadSeries(store: Histograms, stepMs: number, body: readonly string[], withNative: boolean): void {
  for (const line of body) {
    const { labels, rest } = parseMetric(line);
    if (hasNativeHistograms(rest)) {
      store.native.push(labels);
      continue;
    }
    if (withNative && labels.some(([name]) => name === 'le'))
      store.native.push(
        labels.flatMap(([name, value]) =>
          name === 'le'
            ? []
            : [[name, name === METRIC_NAME ? value.replace(/_bucket$/, '') : value] as const],
        ),
      );
    for (const [i, value] of parseValues(rest).entries())
      if (value !== undefined) store.memory.add(labels, i * stepMs, value);
  }
}

function expectationOf(mode: string | undefined, body: readonly string[]): Expectation {
  const expected: Expectation = {
    fails: mode === 'fail',
    ordered: mode === 'ordered',
    annotations: mode === 'warn' || mode === 'info' ? [mode] : [],
    series: [],
  };
  for (const line of body) {
    const expect = /^expect\s+(\w+)(?:\s+(regex|msg):\s*(.*))?$/.exec(line);
    const matrix = /^expect range vector\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)$/.exec(line);
    const text = /^expect string\s+(.+)$/.exec(line);
    const failing = /^expected_fail_(message|regexp)\s+(.*)$/.exec(line);
    if (matrix !== null) expected.matrix = { fromMs: msOf(matrix[1]!), stepMs: msOf(matrix[3]!) };
    else if (text !== null) expected.string = unquote(text[1]!)!;
    else if (failing !== null) {
      expected.fails = true;
      if (failing[1] === 'message') expected.message = failing[2]!;
      else expected.pattern = failing[2]!;
    } else if (expect !== null) {
      const [, kind, form, pattern] = expect;
      if (kind === 'fail') {
        expected.fails = true;
        if (form === 'msg') expected.message = pattern!;
        if (form === 'regex') expected.pattern = pattern!;
      } else if (kind === 'ordered') expected.ordered = true;
      else expected.annotations.push(kind!);
    } else if (/^[-+]?(\d|\.|inf|nan)/i.test(line) && !/^(inf|nan)\w/i.test(line))
      expected.scalar = parseSampleValue(line);
    else {
      const { labels, rest } = parseMetric(line);
      expected.series.push({ labels, text: rest });
    }
  }
  return expected;
}

/** Returns the reason why a case cannot pass here; undefined if it can. */
function skipReason(store: Histograms, expected: Expectation, error: unknown): string | undefined {
  if (error instanceof PromqlError && !(expected.fails && failureOf(error, expected) === undefined))
    for (const [pattern, reason] of UNSUPPORTED) if (pattern.test(error.message)) return reason;
  if (store.wasTouched) return 'native histograms or start timestamps';
  return expected.series.some(({ text }) => text.includes('{{'))
    ? 'native histograms or start timestamps'
    : undefined;
}

async function attempt(
  store: Histograms,
  outcome: { line: number; text: string },
  expected: Expectation,
  run: () => Promise<QueryResult>,
  compare: (result: QueryResult) => string | undefined,
): Promise<EvalOutcome> {
  store.wasTouched = false;
  let [result, error] = [undefined as QueryResult | undefined, undefined as unknown];
  try {
    result = await run();
  } catch (thrown) {
    error = thrown;
  }
  const skipped = skipReason(store, expected, error);
  if (skipped !== undefined) return { ...outcome, skipped };
  if (error !== undefined && !(error instanceof PromqlError))
    return { ...outcome, failure: String((error as Error).stack) };
  const failure =
    error !== undefined
      ? failureOf(error as PromqlError, expected)
      : expected.fails
        ? 'did not fail'
        : (compare(result!) ?? annotationsOf(result!, expected));
  return failure === undefined ? outcome : { ...outcome, failure };
}

function failureOf({ message }: PromqlError, expected: Expectation): string | undefined {
  if (!expected.fails) return `failed: ${message}`;
  if (expected.message !== undefined && !message.includes(expected.message))
    return `failed with ${JSON.stringify(message)} instead of ${JSON.stringify(expected.message)}`;
  if (expected.pattern !== undefined && !new RegExp(expected.pattern).test(message))
    return `failed with ${JSON.stringify(message)}, which does not match ${expected.pattern}`;
  return undefined;
}

function annotationsOf({ warnings, infos }: QueryResult, { annotations }: Expectation): string | undefined {
  for (const kind of annotations) {
    const found = kind.endsWith('warn') ? warnings : infos;
    if (kind.startsWith('no_') === found.length > 0) return `${kind}: ${JSON.stringify(found)}`;
  }
  return undefined;
}

async function evalInstant(
  store: Histograms,
  line: number,
  expr: string,
  atMs: number,
  expected: Expectation,
): Promise<EvalOutcome> {
  const outcome = { line, text: expr };
  const direct = await attempt(
    store,
    outcome,
    expected,
    () => instantQuery(store, expr, atMs, OPTIONS),
    (result) => differenceOfInstant(result, expected),
  );
  if (direct.failure !== undefined || direct.skipped !== undefined || expected.fails) return direct;
  // The printed expression must mean the same.
  const printed = printPromql(parsePromql(expr));
  const again = await attempt(
    store,
    { line, text: printed },
    expected,
    () => instantQuery(store, printed, atMs, OPTIONS),
    (result) => differenceOfInstant(result, expected),
  );
  if (again.failure !== undefined) return again;
  if (expected.ordered || expected.matrix !== undefined || expected.string !== undefined) return direct;
  if (/(start|end|range|step)\(\)/.test(expr)) return direct;
  // The query must have the same value at that time as part of a range query.
  return attempt(
    store,
    { line, text: `${expr} (as a step of a range)` },
    { ...expected, annotations: [] },
    () => rangeQuery(store, expr, { startMs: atMs - 60_000, endMs: atMs + 60_000, stepMs: 60_000 }, OPTIONS),
    ({ value, ...rest }) => {
      if (value.type !== 'matrix') return `is a ${value.type}`;
      const series = value.series.flatMap((each) => {
        const step = each.timestamps.indexOf(atMs);
        return step < 0 ? [] : [{ ...each, values: each.values.subarray(step, step + 1) }];
      });
      return differenceOfInstant(
        expected.scalar === undefined
          ? { ...rest, value: { type: 'vector', series } }
          : { ...rest, value: { ...series[0]!, type: 'scalar' } },
        expected,
      );
    },
  );
}

function differenceOfInstant({ value }: QueryResult, expected: Expectation): string | undefined {
  if (value.type === 'string') return value.value === expected.string ? undefined : `is ${value.value}`;
  if (value.type === 'scalar')
    return expected.scalar !== undefined && isNear(value.values[0]!, expected.scalar)
      ? undefined
      : `is ${value.values[0]}`;
  if (expected.matrix !== undefined) return differenceOfMatrix(value.series, expected, expected.matrix);
  const wanted = expected.series.map(({ labels, text }) => ({
    labels,
    value: parseValues(text)[0] as number,
  }));
  const found = value.series.map(({ labels, values }) => ({ labels, value: values[0]! }));
  const text = () =>
    `is ${JSON.stringify(found.map((each) => [...each.labels.map((pair) => pair.join('=')), String(each.value)]))}`;
  if (wanted.length !== found.length) return text();
  for (const [i, each] of found.entries()) {
    const key = labelsKey(each.labels);
    const match = expected.ordered ? wanted[i] : wanted.find((other) => labelsKey(other.labels) === key);
    if (match === undefined || labelsKey(match.labels) !== key || !isNear(each.value, match.value))
      return text();
  }
  return undefined;
}

function differenceOfMatrix(
  found: readonly ResultSeries[],
  expected: Expectation,
  { fromMs, stepMs }: { fromMs: number; stepMs: number },
): string | undefined {
  const text = () =>
    `is ${JSON.stringify(found.map(({ labels, timestamps, values }) => [labels, [...timestamps], [...values].map(String)]))}`;
  const wanted = expected.series.map(({ labels, text: of }) => ({
    labels,
    values: parseValues(of).flatMap((value, i) =>
      value === undefined ? [] : [[fromMs + i * stepMs, value as number] as const],
    ),
  }));
  const nonEmpty = wanted.filter(({ values }) => values.length > 0);
  if (nonEmpty.length !== found.length) return text();
  for (const each of found) {
    const match = nonEmpty.find((other) => labelsKey(other.labels) === labelsKey(each.labels));
    if (match?.values.length !== each.timestamps.length) return text();
    for (const [i, [ms, value]] of match.values.entries())
      if (each.timestamps[i] !== ms || !isNear(each.values[i]!, value)) return text();
  }
  return undefined;
}

async function evalRange(
  store: Histograms,
  line: number,
  expr: string,
  times: { startMs: number; endMs: number; stepMs: number },
  expected: Expectation,
): Promise<EvalOutcome> {
  return attempt(
    store,
    { line, text: expr },
    expected,
    () => rangeQuery(store, expr, times, OPTIONS),
    ({ value }) =>
      value.type === 'matrix'
        ? differenceOfMatrix(value.series, expected, { fromMs: times.startMs, stepMs: times.stepMs })
        : `is a ${value.type}`,
  );
}

/** Prometheus' own tolerance. */
const TOLERANCE = 1e-6;

function isNear(a: number, b: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  const difference = Math.abs(a - b);
  const sum = Math.abs(a) + Math.abs(b);
  if (a === 0 || b === 0 || sum < 2.2e-308) return difference < TOLERANCE * 2.2e-308;
  return difference / Math.min(sum, Number.MAX_VALUE) < TOLERANCE;
}
