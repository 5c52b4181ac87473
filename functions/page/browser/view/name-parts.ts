/** The parts of a name, each with the separator that ends it. */
export function partsOf(text: string): string[] {
  return text.match(/[^_.:/,={}()-]*[_.:/,={}()-]+|[^_.:/,={}()-]+$/g) ?? [text];
}
