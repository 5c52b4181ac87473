import { readFileSync } from 'node:fs';

/** The operator's manual. */
export const MANUAL = readFileSync('infra/README.md', 'utf8');

/** Rows of the tables below a heading and its sub-headings: the `name` of the first cell, then the other cells. */
export function manualRows(heading: string): { name: string; cells: string[] }[] {
  const [, section = ''] = new RegExp(`\\n## ${heading}\\n([\\s\\S]*?)(?=\\n## |$)`).exec(MANUAL) ?? [];
  return [...section.matchAll(/^\| `([\w-]+)` *\|(.*)\|$/gm)].map(([, name, rest]) => ({
    name: name!,
    cells: rest!.split('|').map((cell) => cell.trim()),
  }));
}
