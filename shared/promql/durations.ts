import { PromqlError } from './errors';
import { MAX_DURATION_MS } from './numbers';
import type { Duration } from './syntax';

/** The properties of a query to which its durations may refer. */
export interface QueryTimes {
  readonly stepMs: number;
  readonly rangeMs: number;
}

/**
 * Computes a duration.
 *
 * @returns whole ms
 * @throws {PromqlError} `bad_data` when the duration is not finite, is too long, or is not positive though it must be
 */
export function durationMs(duration: Duration, times: QueryTimes, mayBeNegative = false): number {
  const seconds = secondsOf(duration, times);
  const fail = (message: string): never => {
    throw new PromqlError('bad_data', message);
  };
  if (!Number.isFinite(seconds)) fail('duration is NaN or infinite');
  if (seconds <= 0 && !mayBeNegative) fail('duration must be greater than 0');
  if (Math.abs(seconds) * 1000 > MAX_DURATION_MS) fail('duration is out of range');
  const ms = duration.op === 'literal' ? Math.round(seconds * 1000) : Math.trunc(seconds * 1000);
  if (ms <= 0 && !mayBeNegative) fail('duration must be at least 1ms');
  return ms;
}

function secondsOf(duration: Duration, times: QueryTimes): number {
  switch (duration.op) {
    case 'literal':
      return duration.seconds;
    case 'step':
      return times.stepMs / 1000;
    case 'range':
      return times.rangeMs / 1000;
    case 'minus':
      return -secondsOf(duration.of, times);
    case 'paren':
      return secondsOf(duration.of, times);
  }
  const [left, right] = [secondsOf(duration.left, times), secondsOf(duration.right, times)];
  switch (duration.op) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '%':
      return left % right;
    case '^':
      return left ** right;
    case 'min_of':
      return Math.min(left, right);
    case 'max_of':
      return Math.max(left, right);
  }
}
