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
