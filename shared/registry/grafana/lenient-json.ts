/**
 * A JSON object whose fields may have any type. The functions below treat a value of an unexpected type as
 * absent.
 */

export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = {};

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NONE;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Returns the first `max` characters of a text. Does not split a surrogate pair. */
export function shorten(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
}
