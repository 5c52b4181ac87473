import { table } from '../../ops/table';

/** Formats a result for display: rows as a table, an object field by field. */
export function textOf(result: unknown): string {
  if (isRows(result)) return tableOf(result);
  return Object.entries(result as object)
    .map(([name, value]) => {
      if (isRows(value)) return `${name}:\n${tableOf(value)}`;
      const entries = Object.entries(value instanceof Object && !Array.isArray(value) ? value : {});
      // An object of objects is also formatted as a table.
      return entries.length > 0 && isRows(entries.map(([, own]) => own))
        ? tableOf(entries.map(([key, own]) => ({ [name]: key, ...(own as object) })))
        : lineOf({ [name]: value });
    })
    .join('\n');
}

/** Formats a row in one line, with names of fields. */
export function lineOf(row: object): string {
  return cellsOf(row)
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${name} ${text}`)
    .join(', ');
}

function tableOf(rows: readonly object[]): string {
  const all = rows.map((row) => new Map(cellsOf(row)));
  const names = [...new Set(all.flatMap((cells) => [...cells.keys()]))];
  return table(
    names,
    all.map((cells) => names.map((name) => cells.get(name) ?? '')),
  );
}

/** Returns a row's fields as strings. Fields of a nested object are named `field.own`. */
function cellsOf(row: object): [name: string, text: string][] {
  return Object.entries(row).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? cellsOf(value).map(([own, text]): [string, string] => [`${name}.${own}`, text])
      : [[name, Array.isArray(value) ? value.map(figure).join(' ') : figure(value)]],
  );
}

/** Formats a number with four significant digits; integers in full. */
function figure(value: unknown): string {
  if (typeof value !== 'number') return value === undefined ? '' : String(value);
  if (Number.isInteger(value)) return String(value);
  return Math.abs(value) >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(4)));
}

function isRows(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.every((row) => typeof row === 'object' && row !== null);
}
