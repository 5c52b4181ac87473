/**
 * A query that cannot be answered. Its kind is Prometheus' `errorType`: `bad_data` if it does not parse,
 * `execution` if evaluation fails or exceeds a limit, `timeout` if it takes too long.
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

/** A query whose vectors would not fit in memory. Fewer steps at a time may fit. */
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
 * An expression that is not valid PromQL, or whose types do not match. The message starts with line and
 * column: `1:4: parse error: ...`.
 */
export function parseError(text: string, at: number, message: string): PromqlError {
  const before = text.slice(0, at).split('\n');
  return new PromqlError(
    'bad_data',
    `${before.length}:${before.at(-1)!.length + 1}: parse error: ${message}`,
  );
}
