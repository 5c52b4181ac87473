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

/** A selector as PromQL writes it, for messages: `{host="web1", __name__ in (a, b)}`. */
export function matchersText(matchers: readonly Matcher[]): string {
  const texts = matchers.map((matcher) =>
    matcher.op === 'in'
      ? `${matcher.label} in (${matcher.values.join(', ')})`
      : `${matcher.label}${matcher.op}${JSON.stringify(matcher.value)}`,
  );
  return `{${texts.join(', ')}}`;
}
