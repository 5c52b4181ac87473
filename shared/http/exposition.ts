import { type Labels, labelValue, METRIC_NAME } from '../model/labels';
import { valueText } from '../promql/numbers';
import { compareBytes, compareLabelBytes } from '../promql/vectors';

export interface ExposedSample {
  readonly labels: Labels;
  readonly timestampMs: number;
  readonly value: number;
}

/**
 * How to write names that have characters outside `[A-Za-z0-9_:]`. `allow-utf-8` quotes these names, which Prometheus
 * has accepted since version 3. `underscores` replaces these characters with `_`.
 */
export type NameEscaping = 'allow-utf-8' | 'underscores';

/**
 * Writes samples in Prometheus' text format. All samples of a metric are grouped together, below a `TYPE` line with the
 * type `untyped`.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function exposition(samples: readonly ExposedSample[], escaping: NameEscaping): string {
  const byName = Map.groupBy(samples, ({ labels }) => labelValue(labels, METRIC_NAME) ?? '');
  const lines = [...byName]
    .filter(([name]) => name !== '')
    .sort(([a], [b]) => compareBytes(a, b))
    .flatMap(([name, ofName]) => [
      `# TYPE ${isLegacy(name) || escaping === 'underscores' ? nameText(name, escaping) : quote(name)} untyped`,
      ...ofName
        .sort((a, b) => compareLabelBytes(a.labels, b.labels))
        .map((sample) => sampleText(name, sample, escaping)),
    ]);
  return lines.map((line) => `${line}\n`).join('');
}

function sampleText(
  name: string,
  { labels, timestampMs, value }: ExposedSample,
  escaping: NameEscaping,
): string {
  const isQuoted = escaping === 'allow-utf-8' && !isLegacy(name);
  const pairs = labels
    .filter(([label, text]) => label !== METRIC_NAME && text !== '')
    .map(([label, text]) => `${labelText(label, escaping)}=${quote(text)}`);
  const inside = [...(isQuoted ? [quote(name)] : []), ...pairs].join(',');
  const series = `${isQuoted ? '' : nameText(name, escaping)}${inside === '' ? '' : `{${inside}}`}`;
  return `${series} ${valueText(value)} ${timestampMs}`;
}

function isLegacy(name: string): boolean {
  return /^[A-Za-z_:][A-Za-z0-9_:]*$/.test(name);
}

function nameText(name: string, escaping: NameEscaping): string {
  return escaping === 'underscores' ? underscore(name, /[^A-Za-z0-9_:]/gu) : name;
}

function labelText(label: string, escaping: NameEscaping): string {
  if (escaping === 'underscores') return underscore(label, /[^A-Za-z0-9_]/gu);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(label) ? label : quote(label);
}

function underscore(name: string, others: RegExp): string {
  return name.replaceAll(others, '_').replace(/^\d/, '_');
}

/** Quotes text with the three escapes of the exposition format. */
function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')}"`;
}
