import { type Labels, labelValue } from './labels';
import { type ValuePattern, valuePattern } from './value-pattern';

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

/** Is told how many steps a test takes, before it takes them; throws to end the matching. */
export type Spend = (steps: number) => void;

/** A matcher ready to test values. */
export interface CompiledMatcher {
  readonly label: string;
  /** Takes time linear in the value's length. */
  readonly test: (value: string) => boolean;
  /** Steps of a test for each character of the value, at most, about. */
  readonly stepsPerCharacter: number;
  /** The only values that pass, in no order, where the matcher lists them; may have ''. */
  readonly values: readonly string[] | undefined;
  /** What every value that passes begins with; may be empty. */
  readonly prefix: string;
  /** Whether series that lack the label pass. */
  readonly acceptsEmpty: boolean;
}

/** @throws {InvalidPatternError} when a regular expression cannot be used */
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
 * A test for series that satisfy all matchers.
 *
 * @throws {InvalidPatternError} when a regular expression cannot be used
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

/** A selector as PromQL writes it, for messages: `{host="web1", __name__ in (a, b)}`. */
export function matchersText(matchers: readonly Matcher[]): string {
  const texts = matchers.map((matcher) =>
    matcher.op === 'in'
      ? `${matcher.label} in (${matcher.values.join(', ')})`
      : `${matcher.label}${matcher.op}${JSON.stringify(matcher.value)}`,
  );
  return `{${texts.join(', ')}}`;
}
