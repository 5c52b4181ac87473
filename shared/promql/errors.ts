/**
 * A query that cannot be answered. The kind is Prometheus' `errorType`: `bad_data` for what does not parse, `execution` for
 * what fails while it is evaluated or exceeds a limit, `timeout` for what takes too long.
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

/** An expression that is not PromQL, or whose types do not fit. The message begins with line and column: `1:4: parse error: ...`. */
export function parseError(text: string, at: number, message: string): PromqlError {
  const before = text.slice(0, at).split('\n');
  return new PromqlError(
    'bad_data',
    `${before.length}:${before.at(-1)!.length + 1}: parse error: ${message}`,
  );
}
