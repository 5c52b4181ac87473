/**
 * A write was refused: every sample in it is of a new series beyond the limit, or its sources could not all
 * be looked up.
 */
export class SeriesLimitError extends Error {
  override readonly name = 'SeriesLimitError';

  /**
   * @param retryAfterMs time after which a write of new series may succeed, in ms
   */
  constructor(
    readonly limit: number,
    readonly retryAfterMs: number,
  ) {
    super(`the limit series of ${limit} is reached`);
  }
}
