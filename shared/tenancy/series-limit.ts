/** The tenant's limit of series leaves nothing of a write, or too many sources were looked up to tell. */
export class SeriesLimitError extends Error {
  override readonly name = 'SeriesLimitError';

  /** @param retryAfterMs when a write of new series may succeed */
  constructor(
    readonly limit: number,
    readonly retryAfterMs: number,
  ) {
    super(`the limit series of ${limit} is reached`);
  }
}
