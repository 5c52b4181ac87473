/** One field of a JSON object, as a form shows it. */
export interface Field {
  /** Name in the object. A dot leads into a nested object: `recurrence.type`. */
  readonly name: string;
  /**
   * `several`: an array of options. `headers`: an array of names and values, each a line `Name: value`.
   * `time`: Unix time in seconds.
   */
  readonly kind: 'text' | 'long' | 'code' | 'number' | 'flag' | 'choice' | 'several' | 'headers' | 'time';
  /** What the field means, with its default. */
  readonly hint?: string;
  /** Values to choose from, with their texts. */
  readonly options?: readonly (readonly [value: string, text: string])[];
  /** Whether the field may be left without a choice. */
  readonly isOptional?: boolean;
}

/** A JSON object that is being edited. Fields that the form does not show stay as they were. */
export type Draft = Readonly<Record<string, unknown>>;

export function fieldValue(draft: Draft, name: string): unknown {
  const [first, ...rest] = name.split('.');
  const value = draft[first!];
  if (rest.length === 0) return value;
  return typeof value === 'object' && value !== null ? fieldValue(value as Draft, rest.join('.')) : undefined;
}

/** Sets a field. Undefined removes the field, and also a nested object that becomes empty. */
export function draftWith(draft: Draft, name: string, value: unknown): Draft {
  const [first, ...rest] = name.split('.');
  let next = value;
  if (rest.length > 0) {
    const inner = draft[first!];
    const changed = draftWith(
      (typeof inner === 'object' ? (inner as Draft) : {}) ?? {},
      rest.join('.'),
      value,
    );
    next = Object.keys(changed).length === 0 ? undefined : changed;
  }
  const { [first!]: _, ...others } = draft;
  if (next === undefined) return others;
  return { ...draft, [first!]: next };
}

/** Returns a field's value as the text of its input. */
export function textOf({ kind }: Field, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (kind === 'headers' && Array.isArray(value))
    return (value as { name: string; value: string }[])
      .map((each) => `${each.name}: ${each.value}`)
      .join('\n');
  return String(value);
}

/**
 * Parses the text of an input. Text that is not a number is kept as text; the server refuses it and gives the reason.
 */
export function parseText({ kind }: Field, text: string): unknown {
  const trimmed = text.trim();
  if (kind === 'headers')
    return trimmed === ''
      ? []
      : trimmed.split('\n').map((line) => {
          const colon = line.indexOf(':');
          return { name: line.slice(0, colon).trim(), value: line.slice(colon + 1).trim() };
        });
  if (trimmed === '') return undefined;
  if (kind === 'number') return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
  return text;
}

/** The reasons why the server refused an object: by field, and for the object as a whole. */
export interface Problems {
  readonly byField: ReadonlyMap<string, string>;
  readonly other: string | undefined;
}

export const NO_PROBLEMS: Problems = { byField: new Map(), other: undefined };

/**
 * Splits the message of a refused request, such as `name: expected ..., got ""; duration is missing`, into the reasons
 * for each of the form's fields.
 */
export function problemsOf(message: string, fields: readonly Field[]): Problems {
  const names = new Set(fields.map(({ name }) => name));
  const byField = new Map<string, string>();
  const other: string[] = [];
  let last: string | undefined;
  // A semicolon inside a quoted value does not end a clause.
  for (const given of message.match(/(?:"(?:[^"\\]|\\.)*"|(?!; ).)+/gs) ?? []) {
    const clause = given.trim();
    const match = /^(?:monitor\.)?([A-Za-z][\w.]*)(: | is missing$)/.exec(clause);
    const field = match === null ? undefined : fieldIn(match[1]!, names);
    if (field !== undefined) {
      const text = match![2] === ': ' ? clause.slice(match![0].length) : 'is missing';
      byField.set(field, byField.has(field) ? `${byField.get(field)}; ${text}` : text);
      last = field;
    } else if (match === null && last !== undefined) byField.set(last, `${byField.get(last)}; ${clause}`);
    else other.push(clause);
  }
  return { byField, other: other.length === 0 ? undefined : other.join('; ') };
}

/** Returns the field that a path such as `scopes.0` or `recurrence.weekdays` leads to. */
function fieldIn(path: string, names: ReadonlySet<string>): string | undefined {
  for (let name = path; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.'))))
    if (names.has(name)) return name;
  return undefined;
}
