const collator = new Intl.Collator('en', { numeric: true });

/** Compares names in natural order: item2 before item10. */
export const byNature: (a: string, b: string) => number = collator.compare;
