import { METRIC_NAME } from '../../shared/model/labels';
import { type ImportSample, InvalidFieldError, parseValue, unixMsOf } from './import-mapping';

/** Patterns of a metric's name, of a label, and of the rest of a line. */
const NAME = /[a-zA-Z_:][a-zA-Z0-9_:.]*/y;
const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_.]*|"(?:[^"\\]|\\.)*")\s*(?:=\s*"((?:[^"\\]|\\.)*)")?\s*(,|(?=\}))/sy;
const REST = /\s*(\S+)(?:\s+(-?[0-9.eE+]+))?\s*(?:#.*)?$/y;

/**
 * Parses a line of OpenMetrics, as written by `promtool tsdb dump-openmetrics` and `promtool tsdb dump`.
 *
 * @returns undefined for a line without a sample
 * @throws {InvalidFieldError}
 * @see https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
export function sampleOfLine(at: string, line: string): ImportSample | undefined {
  if (line.trim() === '' || line.startsWith('#')) return undefined;
  const invalid = (what: string) =>
    new InvalidFieldError(`${at}: ${what} in ${JSON.stringify(line.slice(0, 120))}`);
  const labels: [string, string][] = [];
  NAME.lastIndex = 0;
  const name = NAME.exec(line)?.[0];
  if (name !== undefined) labels.push([METRIC_NAME, name]);
  let end = name?.length ?? 0;
  if (line[end] === '{') {
    for (end++; !/\s*\}/y.test(line.slice(end)); ) {
      LABEL.lastIndex = end;
      const label = LABEL.exec(line);
      if (label === null) throw invalid(`no label at character ${end + 1}`);
      const [all, key, value] = label;
      if (value !== undefined)
        labels.push([key!.startsWith('"') ? unescaped(key!.slice(1, -1)) : key!, unescaped(value)]);
      // A quoted key without a value is the metric's name.
      else if (key!.startsWith('"')) labels.push([METRIC_NAME, unescaped(key!.slice(1, -1))]);
      else throw invalid(`label ${key} has no value`);
      end += all.length;
    }
    end = line.indexOf('}', end) + 1;
  }
  if (!labels.some(([label]) => label === METRIC_NAME)) throw invalid('no name');
  REST.lastIndex = end;
  const [, valueText, timeText] = REST.exec(line) ?? [];
  const value = valueText === undefined ? undefined : parseValue(valueText);
  if (value === undefined) throw invalid(`value ${valueText ?? ''} is not a number`);
  const timestamp = timeText === undefined ? undefined : unixMsOf(Number(timeText));
  if (timestamp === undefined) throw invalid('no timestamp');
  return { labels: Object.fromEntries(labels), timestamp, value };
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, (_, char) => (char === 'n' ? '\n' : char));
}
