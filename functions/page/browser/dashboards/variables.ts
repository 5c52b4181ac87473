import type { Variable, Widget } from '../../../../shared/registry/dashboard';

/** The chosen values of a variable: a list, or all values. */
export type Chosen = readonly string[] | typeof ALL;

/** In an address, this text means that all values are chosen. */
export const ALL = '$__all';

/** The values of variables by name. A variable whose values are not known yet is absent. */
export type ChosenValues = ReadonlyMap<string, { readonly variable: Variable; readonly chosen: Chosen }>;

/**
 * Returns the chosen values of a variable.
 *
 * @param known values to choose from; undefined until they have been read
 * @param picked values in the address
 * @returns undefined until the values to choose from have been read
 */
export function chosenOf(
  variable: Variable,
  known: readonly string[] | undefined,
  picked: readonly string[] | undefined,
): Chosen | undefined {
  const wanted = picked ?? variable.chosen ?? [];
  if (wanted.includes(ALL)) return ALL;
  if (wanted.length > 0) return variable.isMultiple === true ? wanted : wanted.slice(0, 1);
  if (variable.hasAll === true) return ALL;
  return known?.slice(0, 1);
}

const REFERENCE = /\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(?::(\w+))?\}|\[\[([A-Za-z_]\w*)\]\]/g;

function replaced(
  text: string,
  values: ChosenValues,
  textOf: (variable: Variable, chosen: Chosen, format: string | undefined) => string,
): string {
  return text.replace(REFERENCE, (reference, plain, braced, format, bracketed) => {
    const found = values.get(plain ?? braced ?? bracketed);
    return found === undefined ? reference : textOf(found.variable, found.chosen, format);
  });
}

/** Returns the names of the variables that a string refers to. */
export function namesIn(text: string): string[] {
  return [...text.matchAll(REFERENCE)].map(
    ([, plain, braced, , bracketed]) => (plain ?? braced ?? bracketed)!,
  );
}

/** Replaces variables in text that is displayed. */
export function shownText(text: string, values: ChosenValues): string {
  return replaced(text, values, (_, chosen) => (chosen === ALL ? 'all' : chosen.join(', ')));
}

/**
 * Replaces variables in PromQL. A variable that may have several values becomes a regular expression, as in
 * Grafana: `job=~"$job"`.
 */
export function queryText(query: string, values: ChosenValues): string {
  return replaced(query, values, (variable, chosen, format) => {
    const list = chosen === ALL ? allOf(variable) : chosen;
    if (typeof list === 'string') return list;
    if (format === 'raw' || format === 'csv' || format === 'text') return list.join(',');
    const isPattern = format !== undefined || variable.isMultiple === true || variable.hasAll === true;
    if (!isPattern) return quotable(list.join(','));
    const patterns = list.map(patternOf);
    return patterns.length === 1 ? patterns[0]! : `(${patterns.join('|')})`;
  });
}

/** Returns a pattern that matches all values of a variable, or the list of these values. */
function allOf({ allValue, values }: Variable): string | readonly string[] {
  if (allValue != null && allValue !== '') return allValue;
  return values != null && values.length > 0 ? values : '.+';
}

/** Escapes a value for use in a PromQL string. */
function quotable(value: string): string {
  return value.replace(/["'\\]/g, '\\$&').replace(/\n/g, '\\n');
}

/** Returns a regular expression that matches this value only, escaped for use in a PromQL string. */
function patternOf(value: string): string {
  return quotable(value.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
}

/** Replaces the variables in all strings of a widget. */
export function widgetWithVariables(widget: Widget, values: ChosenValues): Widget {
  if (values.size === 0) return widget;
  const shown = (text: string) => shownText(text, values);
  const title = widget.title == null ? {} : { title: shown(widget.title) };
  switch (widget.type) {
    case 'graph':
      return { ...widget, ...title, graph: sourceWith(widget.graph, values) };
    case 'value':
      return { ...widget, ...title, metric: sourceWith(widget.metric, values) };
    case 'markdown':
      return {
        ...widget,
        ...title,
        markdown: widget.markdown == null ? widget.markdown : shown(widget.markdown),
      };
    case 'alertStatus':
      return { ...widget, ...title };
  }
}

function sourceWith<T extends Extract<Widget, { type: 'graph' }>['graph']>(
  source: T,
  values: ChosenValues,
): T {
  const shown = (text: string) => shownText(text, values);
  switch (source.type) {
    case 'query':
      return {
        ...source,
        query: queryText(source.query, values),
        ...(source.legend == null ? {} : { legend: shown(source.legend) }),
      };
    case 'expression':
      return { ...source, expression: shown(source.expression) };
    default:
      return source;
  }
}
