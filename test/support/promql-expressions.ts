/**
 * Generates PromQL from its grammar, with arguments of the right types. It uses only a few names and values, so that
 * the expressions find series that match.
 */

const NAMES = ['x', 'y_total', 'h_bucket', 'q'];
const LABELS = ['a', 'b', 'le'];
const VALUES = ['', '1', '2', '+Inf', '0.5', 'foo'];
const NUMBERS = ['0', '1', '2.5', '-1', '1e3', '1e300', 'NaN', 'Inf', '-Inf', '0x1F', '017', '5m', '0.1'];
const RANGES = ['15s', '1m', '5m', '7m30s', '1h', '300', '2m * 2', '1ms'];

/** Lengths of ranges, offsets, and steps of subqueries. */
interface Lengths {
  readonly ranges: readonly string[];
  readonly offsets: readonly string[];
  readonly steps: readonly string[];
}

const MINUTES: Lengths = {
  ranges: RANGES,
  offsets: ['1m', '-30s', '0s', '(1m * 2)', '5m'],
  steps: ['', '30s', '1m', '17s'],
};
/** Durations that rollups of hours and days can answer, and a few others. */
export const HOURS: Lengths = {
  ranges: ['1h', '1h', '2h', '3h', '1d', '24h', '90m', '1h * 2'],
  offsets: ['1h', '1d', '-1h', '0s', '(1h * 2)', '30m'],
  steps: ['1h', '1h', '2h', '30m'],
};

const EXACT_FUNCTIONS = (
  'abs absent ceil floor sgn sort sort_desc sqrt timestamp deg rad day_of_month day_of_week day_of_year days_in_month ' +
  'hour minute month year round'
).split(' ');
/** Functions whose last digit depends on the library. Computing with their results would increase the difference. */
const ROUNDED_FUNCTIONS =
  'exp ln log10 log2 acos acosh asin asinh atan atanh cos cosh sin sinh tan tanh'.split(' ');
const RANGE_FUNCTIONS = (
  'absent_over_time avg_over_time changes count_over_time delta deriv first_over_time idelta increase irate ' +
  'last_over_time max_over_time min_over_time present_over_time rate resets stddev_over_time stdvar_over_time sum_over_time'
).split(' ');
const AGGREGATIONS = ['sum', 'avg', 'count', 'min', 'max', 'group', 'stddev', 'stdvar'];
const EXACT_ARITHMETIC = ['+', '-', '*', '/', '%'];
const ROUNDED_ARITHMETIC = ['^', 'atan2'];
const COMPARISONS = ['==', '!=', '>', '<', '>=', '<='];

export class PromqlExpressions {
  private readonly functions: readonly string[];
  private readonly arithmetic: readonly string[];

  /**
   * @param random uniform in [0, 1)
   * @param atSeconds times for `@`
   * @param isExact leaves out expressions that depend on the order of equal values, or on a library's rounding anywhere
   *   but in the outermost function
   */
  constructor(
    private readonly random: () => number,
    private readonly atSeconds: readonly number[] = [600, -1, 1000],
    private readonly isExact = false,
    private readonly lengths = MINUTES,
  ) {
    this.functions = isExact ? EXACT_FUNCTIONS : [...EXACT_FUNCTIONS, ...ROUNDED_FUNCTIONS];
    this.arithmetic = isExact ? EXACT_ARITHMETIC : [...EXACT_ARITHMETIC, ...ROUNDED_ARITHMETIC];
  }

  private pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)]!;
  }

  private chance(probability: number): boolean {
    return this.random() < probability;
  }

  private some(from: readonly string[]): string {
    return from.filter(() => this.chance(0.5)).join(', ');
  }

  /** Returns an expression for an instant query. Most results are vectors. */
  expression(depth = 4): string {
    if (this.isExact && this.chance(0.05))
      return this.chance(0.5)
        ? `${this.pick(ROUNDED_FUNCTIONS)}(${this.selector()})`
        : `${this.selector()} ${this.pick(ROUNDED_ARITHMETIC)} ${this.pick(NUMBERS)}`;
    return this.chance(0.1) ? this.scalar(depth) : this.vector(depth);
  }

  private selector(): string {
    const matchers = LABELS.filter(() => this.chance(0.2)).map((label) => {
      const operator = this.pick(['=', '!=', '=~', '!~']);
      const value = this.pick([...VALUES, '.*', '1|2', '.+']);
      return `${label}${operator}"${operator.includes('~') ? value.replace('+Inf', '[+]Inf') : value}"`;
    });
    return this.pick(NAMES) + (matchers.length > 0 ? `{${matchers.join(',')}}` : '');
  }

  private shift(): string {
    const at = this.chance(0.05) ? ` @ ${this.pick(['start()', 'end()', ...this.atSeconds])}` : '';
    const offset = this.chance(0.1) ? ` offset ${this.pick(this.lengths.offsets)}` : '';
    return this.chance(0.5) ? at + offset : offset + at;
  }

  private range(depth: number): string {
    if (depth > 0 && this.chance(0.25)) {
      const inner = this.primary(depth - 1);
      const subquery = `${inner}[${this.pick(this.lengths.ranges)}:${this.pick(this.lengths.steps)}]`;
      // Prometheus 3.14 finds nothing for a selector with @ in a subquery whose window begins near the time of the
      // query.
      return this.isExact && inner.includes('@') ? subquery : subquery + this.shift();
    }
    return `${this.selector()}[${this.pick([...this.lengths.ranges, 'step() + 1'])}]${this.shift()}`;
  }

  private scalar(depth: number): string {
    if (depth <= 0 || this.chance(0.5)) return this.pick([...NUMBERS, 'time()', 'pi()']);
    switch (Math.floor(this.random() * 4)) {
      case 0:
        return `scalar(${this.vector(depth - 1)})`;
      case 1:
        return `(${this.scalar(depth - 1)} ${this.pick(this.arithmetic)} ${this.scalar(depth - 1)})`;
      case 2:
        return `(${this.scalar(depth - 1)} ${this.pick(COMPARISONS)} bool ${this.scalar(depth - 1)})`;
      default:
        return `-${this.pick(NUMBERS).replace('-', '')}`;
    }
  }

  /**
   * Returns a vector in parentheses, so that a binary operator or a subquery can follow without changing the meaning.
   */
  private primary(depth: number): string {
    return `(${this.vector(depth)})`;
  }

  private vector(depth: number): string {
    if (depth <= 0) return this.selector() + this.shift();
    const inner = depth - 1;
    switch (Math.floor(this.random() * 12)) {
      case 0:
      case 1:
        return this.selector() + this.shift();
      case 2:
      case 3:
        return `${this.pick(RANGE_FUNCTIONS)}(${this.range(inner)})`;
      case 4:
        return `${this.pick(this.functions)}(${this.vector(inner)})`;
      case 5:
        return this.grouped(this.pick(AGGREGATIONS), this.vector(inner));
      case 6:
        return this.pick([
          () =>
            this.grouped(
              this.pick(['topk', 'bottomk']),
              `${this.pick(!this.isExact ? ['1', '2', '3', '0', '-1'] : ['0', '10000'])}, ${this.vector(inner)}`,
            ),
          () =>
            this.grouped(
              'quantile',
              `${this.pick(['0.5', '0', '1', '0.9', '2', 'NaN'])}, ${this.vector(inner)}`,
            ),
          // `count_values` turns values into labels, so a difference in a value's last digit would give different
          // labels.
          () => this.grouped('count_values', `"v", ${this.isExact ? this.selector() : this.vector(inner)}`),
        ])();
      case 7:
        return `${this.primary(inner)} ${this.pick(this.arithmetic)} ${this.matching()}${this.primary(inner)}`;
      case 8:
        return `${this.primary(inner)} ${this.pick(COMPARISONS)} ${this.pick(['', 'bool '])}${this.matching()}${this.primary(inner)}`;
      case 9:
        return `${this.primary(inner)} ${this.pick(['and', 'or', 'unless'])} ${this.pick(['', 'on (a) ', 'ignoring (b) ', 'on () '])}${this.primary(inner)}`;
      case 10:
        return this.pick([
          () => `${this.primary(inner)} ${this.pick(this.arithmetic)} ${this.scalar(inner)}`,
          () =>
            `${this.scalar(inner)} ${this.pick(COMPARISONS)} ${this.pick(['', 'bool '])}${this.primary(inner)}`,
          () => `-${this.primary(inner)}`,
          () => `vector(${this.scalar(inner)})`,
        ])();
      default:
        return this.pick([
          () => `clamp(${this.vector(inner)}, ${this.scalar(inner)}, ${this.scalar(inner)})`,
          () => `clamp_max(${this.vector(inner)}, ${this.scalar(inner)})`,
          () => `round(${this.vector(inner)}, ${this.scalar(inner)})`,
          () => `predict_linear(${this.range(inner)}, ${this.scalar(inner)})`,
          () => `quantile_over_time(${this.scalar(inner)}, ${this.range(inner)})`,
          () => `histogram_quantile(${this.scalar(inner)}, ${this.vector(inner)})`,
          () => `histogram_fraction(${this.scalar(inner)}, ${this.scalar(inner)}, ${this.vector(inner)})`,
          () =>
            `label_replace(${this.vector(inner)}, "${this.pick([...LABELS, '__name__'])}", "$1z", "a", "(.*)")`,
          () => `label_join(${this.vector(inner)}, "c", "-", "a", "b")`,
        ])();
    }
  }

  private grouped(op: string, args: string): string {
    const by = this.chance(0.6) ? ` ${this.pick(['by', 'without'])} (${this.some(LABELS)})` : '';
    return `${op}${by} (${args})`;
  }

  private matching(): string {
    if (this.chance(0.5)) return '';
    const on = this.chance(0.5);
    const labels = LABELS.filter(() => this.chance(0.5));
    const include = LABELS.filter((label) => !labels.includes(label) && this.chance(0.3));
    const group = this.chance(0.4)
      ? `${this.pick(['group_left', 'group_right'])} (${include.join(', ')}) `
      : '';
    return `${on ? 'on' : 'ignoring'} (${labels.join(', ')}) ${group}`;
  }
}

/** Returns the expression with a few characters added, removed or replaced. */
export function mutated(text: string, random: () => number): string {
  const characters = [...text];
  const alphabet = '()[]{},"\'`=!~<>+-*/%^@:.#0159eExmsabyon \n\\_😀';
  for (let i = 0; i < 1 + random() * 3; i++) {
    const at = Math.floor(random() * characters.length);
    const added = [...alphabet][Math.floor(random() * [...alphabet].length)]!;
    characters.splice(at, random() < 0.6 ? 1 : 0, ...(random() < 0.6 ? [added] : []));
  }
  return characters.join('');
}
