/** A series' name and labels: pairs sorted by label name, each name once. Arrays, so that `__proto__` is data. */
export type Labels = readonly (readonly [name: string, value: string])[];

export const METRIC_NAME = '__name__';

/** Sorts pairs into canonical order. The pairs must have distinct names. */
export function labelsOf(...pairs: (readonly [string, string])[]): Labels {
  return pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** A text for each label set: two are equal exactly when the label sets are. */
export function labelsKey(labels: Labels): string {
  return JSON.stringify(labels);
}

export function labelValue(labels: Labels, name: string): string | undefined {
  return labels.find(([label]) => label === name)?.[1];
}

/** Labels of a source. */
export const sourceOf = {
  host: (hostId: string): Labels => [['host', hostId]],
  service: (service: string): Labels => [['service', service]],
  /**
   * The source of a series, ignoring the name: its host, else its job and instance, else all of its labels. Holds for
   * Mackerel's series too.
   */
  labels: (labels: Labels): Labels => {
    const host = labelValue(labels, 'host');
    if (host !== undefined) return sourceOf.host(host);
    const target = labels.filter(([name]) => name === 'instance' || name === 'job');
    return target.length > 0 ? target : labels.filter(([name]) => name !== METRIC_NAME);
  },
};

/** The labels of one of a source's metrics. */
export function metricOf(source: Labels, name: string): Labels {
  return labelsOf([METRIC_NAME, name], ...source);
}

/** Series that differ in their names alone. */
export interface NamedSeries {
  /** All labels but the name. */
  readonly labels: Labels;
  readonly names: readonly string[];
}

/** The {@link labelsKey} of each series. Encodes the shared labels once. */
export function seriesKeys({ labels, names }: NamedSeries): string[] {
  const isBefore = ([label]: Labels[number]) => label < METRIC_NAME;
  const before = labels.filter(isBefore).map((pair) => `${JSON.stringify(pair)},`);
  const after = labels.filter((pair) => !isBefore(pair)).map((pair) => `,${JSON.stringify(pair)}`);
  const [head, tail] = [`[${before.join('')}["${METRIC_NAME}",`, `]${after.join('')}]`];
  return names.map((name) => head + JSON.stringify(name) + tail);
}
