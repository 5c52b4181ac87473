import { quote } from '../promql/print';
import { type Expression, ExpressionError } from './expression';

/** Returns the hosts that are in a role now. */
export type HostsOfRole = (roleFullname: string) => readonly string[];

/**
 * Compiles an expression to PromQL.
 *
 * Most PromQL functions drop the name of a series, but only the name distinguishes the metrics of one
 * host. So metrics that a wildcard selects also carry their name in the label `metric`. Each member of a group
 * carries its index in a label: `line1` in an innermost group, `line2` in a group of such groups.
 *
 * `roleSlots` reads the hosts that are in the role now, because former members are not recorded.
 *
 * @throws {ExpressionError} when the PromQL would be too long
 */
export function promqlOf(expression: Expression, hostsOf: HostsOfRole): string {
  return compile(expression, { hostsOf, shiftMs: 0 }).text;
}

interface Context {
  readonly hostsOf: HostsOfRole;
  /** How far before the time of the evaluation the metrics are read, in ms. */
  readonly shiftMs: number;
}

interface Compiled {
  /** PromQL that can be used as an operand unchanged, because it has no operators outside brackets. */
  readonly text: string;
  /** Which label distinguishes the series that the expression returns; `one` if it returns at most one series. */
  readonly lines: 'one' | 'by host' | 'by label';
  /** Set if the text is a selector, to which a range may be appended. */
  readonly selector?: { readonly text: string; readonly offset: string };
  /** Nesting depth of groups. */
  readonly groups: number;
}

/**
 * Step of subqueries, which are the ranges of anything other than a selector. It is the resolution of
 * Mackerel's metrics.
 */
const SUBQUERY_STEP = '1m';

const NOTHING = '(vector(0) < 0)';

/**
 * Maximum length of the PromQL, in characters. Some functions repeat their argument up to three times, so
 * nesting them multiplies the length.
 */
const MAX_CHARACTERS = 200_000;

function compile(expression: Expression, context: Context): Compiled {
  const compiled = compileCall(expression, context);
  if (compiled.text.length > MAX_CHARACTERS)
    throw new ExpressionError(
      `as PromQL the expression has more than ${MAX_CHARACTERS} characters: it nests product or timeLeftForecast too deeply, or its roles have too many hosts`,
    );
  return compiled;
}

function compileCall({ func, metrics: parts, values }: Expression, context: Context): Compiled {
  const [first, second] = values as [string, string];
  switch (func) {
    case 'host':
      return metricsOf(`host=${quote(first)}`, second, 'one', context);
    case 'service':
      // Reads add the label `service` to the series of hosts. Exclude these series with `host=""`.
      return metricsOf(`host="",service=${quote(first)}`, second, 'one', context);
    case 'role':
    case 'roleSlots': {
      const hosts = context.hostsOf(first);
      if (hosts.length === 0) return { text: NOTHING, lines: 'one', groups: 0 };
      return metricsOf(`host=~${quote(hosts.join('|'))}`, second, 'by host', context);
    }
    case 'timeShift':
      return compile(parts[0]!, { ...context, shiftMs: context.shiftMs + Number(first) });
    case 'stack':
    case 'alias':
      return compile(parts[0]!, context);
    case 'group':
      return group(parts.map((each) => compile(each, context)));
    case 'diff':
    case 'divide':
      return pairs(func, compile(parts[0]!, context), compile(parts[1]!, context));
    default:
      return applyFunction(func, compile(parts[0]!, context), values as readonly number[]);
  }
}

/** Selects the series of a source's metric. `*` and `#` match one part of the name. */
function metricsOf(source: string, metric: string, lines: Compiled['lines'], context: Context): Compiled {
  const offset = context.shiftMs === 0 ? '' : ` offset ${context.shiftMs}ms`;
  if (!/[*#]/.test(metric)) {
    const text = `{__name__=${quote(metric)},${source}}`;
    return { text: text + offset, lines, selector: { text, offset }, groups: 0 };
  }
  const pattern = metric
    .split(/[*#]/)
    .map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'))
    .join('[^.]+');
  const text = `label_replace({__name__=~${quote(pattern)},${source}}${offset},"metric","$1","__name__","(.*)")`;
  return { text, lines: 'by label', groups: 0 };
}

function group(parts: readonly Compiled[]): Compiled {
  if (parts.length === 1) return parts[0]!;
  const groups = 1 + Math.max(...parts.map((part) => part.groups));
  const lines = parts.map(({ text }, i) => `label_replace(${text},"line${groups}","${i}","","")`);
  return { text: `(${lines.join(' or ')})`, lines: 'by label', groups };
}

/**
 * Computes the difference or quotient of two metrics at each time at which both have a sample. Quotients with a zero
 * divisor are left out.
 */
function pairs(func: 'diff' | 'divide', left: Compiled, right: Compiled): Compiled {
  const divisor = func === 'divide' ? `(${right.text} != 0)` : right.text;
  const groups = Math.max(left.groups, right.groups);
  const lines = left.lines === 'one' ? right.lines : left.lines;
  const text = `(${left.text} ${func === 'divide' ? '/' : '-'} ${matching(left, right)}${divisor})`;
  return { text, lines, groups };
}

function matching({ lines: left }: Compiled, { lines: right }: Compiled): string {
  if (left === 'one') return right === 'one' ? 'on() ' : 'on() group_right() ';
  if (right === 'one') return 'on() group_left() ';
  return left === 'by host' && right === 'by host' ? 'on(host) ' : '';
}

type AppliedFunction = Exclude<
  Expression['func'],
  'host' | 'service' | 'role' | 'roleSlots' | 'timeShift' | 'stack' | 'alias' | 'group' | 'diff' | 'divide'
>;

function applyFunction(func: AppliedFunction, part: Compiled, [first, second]: readonly number[]): Compiled {
  const { text, groups } = part;
  const one = (compiled: string): Compiled => ({ text: compiled, lines: 'one', groups: 0 });
  const same = (compiled: string): Compiled => ({ text: compiled, lines: part.lines, groups });
  switch (func) {
    case 'avg':
    case 'max':
    case 'min':
    case 'sum':
      return one(`${func}(${text})`);
    case 'product':
      return one(product(text));
    case 'percentile':
      return one(`quantile(${first! / 100},${text})`);
    case 'scale':
      return same(`(${text} * ${first})`);
    case 'offset':
      return same(`(${text} + ${first})`);
    case 'movingAverage':
      return same(`avg_over_time(${rangeOf(part, first!)})`);
    case 'linearRegression':
      return same(`predict_linear(${rangeOf(part, first!)},0)`);
    case 'timeLeftForecast':
      return same(timeLeft(rangeOf(part, first!), second!));
  }
}

/**
 * Computes a product, which PromQL lacks: the exponential of the sum of logarithms, with the sign given by
 * the number of negative factors. Exact to about 15 digits.
 */
function product(text: string): string {
  const negative = `(count(${text} < 0) or vector(0))`;
  return `(exp(sum(ln(abs(${text})))) * on() (1 - 2 * (${negative} % 2)))`;
}

function rangeOf({ text, selector }: Compiled, ms: number): string {
  if (selector !== undefined) return `${selector.text}[${ms}ms]${selector.offset}`;
  return `${text}[${ms}ms:${SUBQUERY_STEP}]`;
}

/**
 * Computes the seconds until a line reaches a threshold. If the line is moving away from it, the result is
 * infinite, so that a monitor with the operator `<` does not raise an alert.
 */
function timeLeft(range: string, threshold: number): string {
  const now = `predict_linear(${range},0)`;
  return `((((${threshold} - ${now}) / deriv(${range})) >= 0) or (${now} * 0 + Inf))`;
}
