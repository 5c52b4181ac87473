/**
 * The labels of a series, including its name `__name__`: pairs of name and value, sorted by name, without
 * duplicate names. The type is an array and not an object, so that a label may be named `__proto__`.
 */
export type Labels = readonly (readonly [name: string, value: string])[];

export const METRIC_NAME = '__name__';

/** Makes labels from pairs in any order. The names must differ. */
export function labelsOf(...pairs: (readonly [string, string])[]): Labels {
  return pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Returns the key of labels, a string. Two sets of labels have equal keys if and only if the labels are equal. */
export function labelsKey(labels: Labels): string {
  return JSON.stringify(labels);
}

const QUOTE = 0x22;

/** Compares the {@link labelsKey}s of two sets of labels, without building the keys. */
export function compareLabels(a: Labels, b: Labels): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x === y) continue;
    const order = compareInJson(x[0], y[0]) || compareInJson(x[1], y[1]);
    if (order !== 0) return order;
  }
  // The shorter set comes last: in the keys, `,` sorts before `]`.
  return b.length - a.length;
}

/** Compares two strings as their JSON texts would compare. */
function compareInJson(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  let at = 0;
  while (at < shared && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (mayBeEscaped(a, at) || mayBeEscaped(b, at)) return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
  // If a string ends here, its JSON has the closing quote here.
  return (at < a.length ? a.charCodeAt(at) : QUOTE) - (at < b.length ? b.charCodeAt(at) : QUOTE);
}

/** Whether JSON may write the character at an index differently from the string. */
function mayBeEscaped(text: string, at: number): boolean {
  if (at === text.length) return false;
  const code = text.charCodeAt(at);
  return code < 0x20 || code === QUOTE || code === 0x5c || (code >= 0xd800 && code <= 0xdfff);
}

/** Returns the value of a label; undefined if the labels lack it. */
export function labelValue(labels: Labels, name: string): string | undefined {
  return labels.find(([label]) => label === name)?.[1];
}

/** Functions that return the labels that identify a source. */
export const sourceOf = {
  host: (hostId: string): Labels => [['host', hostId]],
  service: (service: string): Labels => [['service', service]],
  /**
   * Returns the labels of a series that name its source: the label `host`; if it has none, `job` and `instance`; if it
   * has neither, all labels except the series' name.
   */
  labels: (labels: Labels): Labels => {
    const host = labelValue(labels, 'host');
    if (host !== undefined) return sourceOf.host(host);
    const target = labels.filter(([name]) => name === 'instance' || name === 'job');
    return target.length > 0 ? target : labels.filter(([name]) => name !== METRIC_NAME);
  },
};

/** Returns the labels of a series: its source's labels, and its name. */
export function metricOf(source: Labels, name: string): Labels {
  return labelsOf([METRIC_NAME, name], ...source);
}
