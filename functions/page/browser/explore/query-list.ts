const MAX_QUERIES = 50;
/** Longer ones would fill the storage. */
const MAX_LENGTH = 4_000;

/** The list after a query ran, which then is the first. */
export function withQuery(past: readonly string[], query: string): readonly string[] {
  if (query === '' || query.length > MAX_LENGTH) return past;
  return [query, ...past.filter((each) => each !== query)].slice(0, MAX_QUERIES);
}
