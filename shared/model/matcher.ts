import { type Labels, labelValue } from './labels';
import { type ValuePattern, valuePattern } from './value-pattern';

/**
 * A condition on one label of a series, which may be its name (`__name__`). A label that the series lacks has
 * the value ''. A regular expression must match the whole value.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/#time-series-selectors
 */
export type Matcher =
  | { readonly label: string; readonly op: '=' | '!=' | '=~' | '!~'; readonly value: string }
  /** Accepts any of several values, like `=~"a|b"`. */
  | { readonly label: string; readonly op: 'in'; readonly values: readonly string[] };

export function equals(label: string, value: string): Matcher {
  return { label, op: '=', value };
}

export function isIn(label: string, values: readonly string[]): Matcher {
  return { label, op: 'in', values };
}

/**
 * Counts the work of matching. It is called before each test, with an upper bound on the number of steps that the test
 * takes. It may throw to stop the matching.
 */
export type Spend = (steps: number) => void;

/** A matcher prepared for testing values. */
export interface CompiledMatcher extends ValuePattern {
  readonly label: string;
  /** Whether series that lack the label pass. */
  readonly acceptsEmpty: boolean;
}

/**
 * Prepares a matcher for testing values.
 *
 * @throws {InvalidPatternError} when its regular expression is invalid or too large
 */
export function compileMatcher(matcher: Matcher): CompiledMatcher {
  const condition = conditionOf(matcher);
  return { label: matcher.label, ...condition, acceptsEmpty: condition.test('') };
}

function conditionOf(matcher: Matcher): ValuePattern {
  if (matcher.op === 'in') {
    const values = new Set(matcher.values);
    return { test: (value) => values.has(value), stepsPerCharacter: 1, values: [...values], prefix: '' };
  }
  const { op, value: wanted } = matcher;
  if (op === '=')
    return { test: (value) => value === wanted, stepsPerCharacter: 1, values: [wanted], prefix: wanted };
  if (op === '!=')
    return { test: (value) => value !== wanted, stepsPerCharacter: 1, values: undefined, prefix: '' };
  const pattern = valuePattern(wanted);
  if (op === '=~') return pattern;
  return { ...pattern, test: (value) => !pattern.test(value), values: undefined, prefix: '' };
}

/**
 * Returns a test of whether a series satisfies all matchers.
 *
 * @throws {InvalidPatternError} when a regular expression is invalid or too large
 */
export function seriesTest(
  matchers: readonly Matcher[],
  spend: Spend = () => {},
): (labels: Labels) => boolean {
  const compiled = matchers.map(compileMatcher);
  return (labels) =>
    compiled.every(({ label, test, stepsPerCharacter }) => {
      const value = labelValue(labels, label) ?? '';
      spend(stepsPerCharacter * (value.length + 1));
      return test(value);
    });
}

/** Formats matchers for messages, much like PromQL: `{host="web1", __name__ in (a, b)}`. */
export function matchersText(matchers: readonly Matcher[]): string {
  const texts = matchers.map((matcher) =>
    matcher.op === 'in'
      ? `${matcher.label} in (${matcher.values.join(', ')})`
      : `${matcher.label}${matcher.op}${JSON.stringify(matcher.value)}`,
  );
  return `{${texts.join(', ')}}`;
}
