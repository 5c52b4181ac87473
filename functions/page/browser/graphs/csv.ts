import type { SeriesData } from './plot-data';

/**
 * Writes series as CSV: a line for each time, in ISO 8601 and UTC; a column for each series, empty where it has no sample.
 *
 * @see https://www.rfc-editor.org/rfc/rfc4180
 */
export function csvOf(names: readonly string[], { times, values }: SeriesData): string {
  const lines = [['time', ...names].map(quoted).join(',')];
  for (const [i, time] of times.entries())
    lines.push([new Date(time * 1000).toISOString(), ...values.map((row) => row[i] ?? '')].join(','));
  return `${lines.join('\r\n')}\r\n`;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
