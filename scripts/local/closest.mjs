/**
 * Finds the name that the user probably meant.
 *
 * @param {string} name the name that was given
 * @param {readonly string[]} names the known names
 * @returns {string | undefined} undefined if none is similar
 */
export function closest(name, names) {
  const continued = names.filter((known) => name.length > 2 && known.startsWith(name));
  if (continued.length === 1) return continued[0];
  const [best] = names
    .map((known) => ({ known, edits: editsBetween(name.toLowerCase(), known.toLowerCase()) }))
    .filter(({ known, edits }) => edits <= Math.max(known.length > 3 ? 2 : 1, known.length / 3))
    .sort((a, b) => a.edits - b.edits);
  return best?.known;
}

/**
 * Counts insertions, deletions and replacements of a character.
 *
 * @param {string} a
 * @param {string} b
 * @see https://en.wikipedia.org/wiki/Levenshtein_distance
 */
function editsBetween(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}
