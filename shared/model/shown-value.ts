/** Maximum length of a value in a message, in characters. */
const MAX_SHOWN = 100;

/** Quotes a text of a request for a message. A long text is cut. */
export function showText(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text);
}

/**
 * Formats a value of a request for a message. Arrays and objects are only named, because writing them might overflow the
 * stack.
 */
export function showValue(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'string' ? showText(value) : String(value);
}
