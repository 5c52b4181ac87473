export interface LabelValues {
  /** Selector of the series whose label values are wanted; undefined for all series. */
  readonly selector?: string;
  readonly label: string;
}

const QUERY = /^\s*label_values\((?:(.+),)?\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\)\s*$/s;

/** Parses `label_values(label)` and `label_values(selector, label)`; undefined for any other text. */
export function parseLabelValues(query: string): LabelValues | undefined {
  const [, selector, label] = QUERY.exec(query) ?? [];
  if (label === undefined) return undefined;
  return selector === undefined || selector.trim() === '' ? { label } : { selector: selector.trim(), label };
}
