/** Joins columns. */
export function concat(parts: readonly ArrayLike<number>[]): Float64Array {
  const whole = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Joined columns, by the first of them. */
const joined = new WeakMap<
  ArrayLike<number>,
  { readonly parts: readonly ArrayLike<number>[]; readonly whole: ArrayLike<number> }
>();

/** As {@link concat}, and one array for the same columns: series of a source mostly share their times and counts. */
export function concatShared(parts: readonly ArrayLike<number>[]): ArrayLike<number> {
  const [first] = parts;
  if (first === undefined || first.length === 0) return concat(parts);
  if (parts.length === 1) return first;
  const known = joined.get(first);
  if (known?.parts.length === parts.length && parts.every((part, i) => part === known.parts[i]))
    return known.whole;
  const whole = concat(parts);
  joined.set(first, { parts, whole });
  return whole;
}
