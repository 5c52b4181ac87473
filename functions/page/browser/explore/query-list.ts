const MAX_QUERIES = 50;
/** Maximum length of a query that is stored, in characters. Longer queries would fill the storage. */
const MAX_LENGTH = 4_000;

/** Adds a query that was run to the front of the list of past queries. */
export function withQuery(past: readonly string[], query: string): readonly string[] {
  if (query === '' || query.length > MAX_LENGTH) return past;
  return [query, ...past.filter((each) => each !== query)].slice(0, MAX_QUERIES);
}
