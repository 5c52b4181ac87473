import type { SeriesData } from './plot-data';

/**
 * Series as a table: a line for each time, ISO 8601 in UTC, a column for each metric; nothing where there is no sample.
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
