/**
 * The query cannot be answered. `kind` is Prometheus' `errorType`: `bad_data` if the query does not parse, `execution`
 * if its evaluation fails or exceeds a limit, `timeout` if it takes too long.
 */
export class PromqlError extends Error {
  override readonly name = 'PromqlError';

  constructor(
    readonly kind: 'bad_data' | 'execution' | 'timeout',
    message: string,
  ) {
    super(message);
  }
}

/** The vectors of a query are too large. They may be small enough if fewer steps are evaluated at a time. */
export class TooManyValuesError extends PromqlError {
  /** @param maxValues the limit */
  constructor(maxValues: number) {
    super(
      'execution',
      `the query needs more than ${maxValues} values in memory (series times steps); ask for fewer series or a longer step`,
    );
  }
}

/**
 * Creates the error for an expression that is not valid PromQL, or whose types do not match. The message starts with
 * the line and column: `1:4: parse error: ...`.
 */
export function parseError(text: string, at: number, message: string): PromqlError {
  const before = text.slice(0, at).split('\n');
  return new PromqlError(
    'bad_data',
    `${before.length}:${before.at(-1)!.length + 1}: parse error: ${message}`,
  );
}
