/** Maximum length of a value in a message, in characters. */
const MAX_SHOWN = 100;

/** Quotes a text from a request, for use in a message. Truncates a long text. */
export function showText(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text);
}

/**
 * Formats a value from a request, for use in a message. Does not write out arrays and objects, because that
 * might overflow the stack.
 */
export function showValue(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'string' ? showText(value) : String(value);
}
