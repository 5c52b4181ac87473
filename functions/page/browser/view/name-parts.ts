/** Splits a name into parts, each with the separator at its end. */
export function partsOf(text: string): string[] {
  return text.match(/[^_.:/,={}()-]*[_.:/,={}()-]+|[^_.:/,={}()-]+$/g) ?? [text];
}
