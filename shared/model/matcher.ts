import { type Labels, labelValue } from './labels';
import { valuePattern } from './value-pattern';

/**
 * A condition on one label of a series, its name (`__name__`) included. A label that a series lacks has the value ''.
 * Regular expressions match whole values.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/#time-series-selectors
 */
export type Matcher =
  | { readonly label: string; readonly op: '=' | '!=' | '=~' | '!~'; readonly value: string }
  /** One of several values, as `=~"a|b"` means it. */
  | { readonly label: string; readonly op: 'in'; readonly values: readonly string[] };

export function equals(label: string, value: string): Matcher {
  return { label, op: '=', value };
}

export function isIn(label: string, values: readonly string[]): Matcher {
  return { label, op: 'in', values };
}

/** A matcher ready to test values. */
export interface CompiledMatcher {
  readonly label: string;
  /** Takes time linear in the value's length. */
  readonly test: (value: string) => boolean;
  /** The only values that pass, in no order, where the matcher lists them; may have ''. */
  readonly values: readonly string[] | undefined;
  /** What every value that passes begins with; may be empty. */
  readonly prefix: string;
  /** Whether series that lack the label pass. */
  readonly acceptsEmpty: boolean;
}

/** @throws {InvalidPatternError} when a regular expression cannot be used */
export function compileMatcher(matcher: Matcher): CompiledMatcher {
  const { test, values, prefix } = conditionOf(matcher);
  return { label: matcher.label, test, values, prefix, acceptsEmpty: test('') };
}

function conditionOf(matcher: Matcher): Pick<CompiledMatcher, 'test' | 'values' | 'prefix'> {
  if (matcher.op === 'in') {
    const values = new Set(matcher.values);
    return { test: (value) => values.has(value), values: [...values], prefix: '' };
  }
  const { op, value: wanted } = matcher;
  if (op === '=') return { test: (value) => value === wanted, values: [wanted], prefix: wanted };
  if (op === '!=') return { test: (value) => value !== wanted, values: undefined, prefix: '' };
  const pattern = valuePattern(wanted);
  if (op === '=~') return pattern;
  return { test: (value) => !pattern.test(value), values: undefined, prefix: '' };
}

/**
 * A test for series that satisfy all matchers.
 *
 * @throws {InvalidPatternError} when a regular expression cannot be used
 */
export function seriesTest(matchers: readonly Matcher[]): (labels: Labels) => boolean {
  const compiled = matchers.map(compileMatcher);
  return (labels) => compiled.every(({ label, test }) => test(labelValue(labels, label) ?? ''));
}

/** A selector as PromQL writes it, for messages: `{host="web1", __name__ in (a, b)}`. */
export function matchersText(matchers: readonly Matcher[]): string {
  const texts = matchers.map((matcher) =>
    matcher.op === 'in'
      ? `${matcher.label} in (${matcher.values.join(', ')})`
      : `${matcher.label}${matcher.op}${JSON.stringify(matcher.value)}`,
  );
  return `{${texts.join(', ')}}`;
}
