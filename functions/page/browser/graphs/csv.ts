import type { SeriesData } from './plot-data';

/**
 * Formats series as CSV: a line for each time, in ISO 8601 and UTC; a column for each series, empty where it
 * has no sample.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 */
export function csvOf(names: readonly string[], { times, values }: SeriesData): string {
  const lines = [['time', ...names].map(quoted).join(',')];
  for (const [i, time] of times.entries())
    lines.push([new Date(time * 1000).toISOString(), ...values.map((row) => row[i] ?? '')].join(','));
  return `${lines.join('\r\n')}\r\n`;
}

/** Formats a table's rows as CSV: a column for each label of any row, then the value. */
export function csvOfRows(
  rows: readonly { readonly labels: Readonly<Record<string, string>>; readonly value: string }[],
): string {
  const names = [...new Set(rows.flatMap(({ labels }) => Object.keys(labels)))];
  const lines = [[...names, 'value'].map(quoted).join(',')];
  for (const { labels, value } of rows)
    lines.push([...names.map((name) => labels[name] ?? ''), value].map(quoted).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
