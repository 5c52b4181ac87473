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

/** The section of the manual about one alarm. */
export interface ManualAlarm {
  readonly name: string;
  /** What the alarm means for users and what to do, as the alarm's mail says it. */
  readonly meaning: string;
  readonly action: string;
  /** When to wake someone. */
  readonly wake: string;
}

/**
 * The sections below "Alarms": a heading with the name, a paragraph, a list of what to do, and when to wake someone.
 */
export function manualAlarms(): ManualAlarm[] {
  const [, section = ''] = /\n## Alarms\n([\s\S]*?)(?=\n## |$)/.exec(MANUAL) ?? [];
  const joined = (lines: string) => lines.replace(/\n+(?:- | *)/g, ' ').trim();
  return [
    ...section.matchAll(
      /^### `([\w-]+)`\n\n([\s\S]*?)\n\n- ([\s\S]*?)\n\n(?:```[\s\S]*?```\n\n)?((?:Wake|Do not wake) [\s\S]*?)\n(?=\n|$)/gm,
    ),
  ].map(([, name, meaning, action, wake]) => ({
    name: name!,
    meaning: joined(meaning!),
    action: joined(action!),
    wake: joined(wake!),
  }));
}
