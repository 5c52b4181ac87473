import type { TimeRange } from '../model/selection';
import { MAX_RESPONSE_SAMPLES } from '../query/series-table';
import { HttpError } from './http';

/** Maximum number of values in a response. Lambda limits responses to 6 MB. */
const MAX_VALUES = 100_000;

/**
 * Refuses a request for steps if the response could have more than {@link MAX_VALUES} values.
 *
 * @throws {HttpError} 400
 */
export function requireFewSteps(
  series: number,
  stepMs: number,
  { fromMs, toMs }: TimeRange,
  firstMs: number,
): void {
  const steps = (series * (toMs - Math.max(fromMs, firstMs))) / stepMs;
  if (steps > MAX_VALUES)
    throw new HttpError(
      400,
      `step: ${Math.ceil(steps)} steps of ${stepMs / 1000} s are more than ${MAX_VALUES}; use a longer step`,
    );
}

/**
 * Refuses a request for samples as stored if the response would be too large. The check precedes the read, so it assumes
 * one sample a minute.
 *
 * @throws {HttpError} 400
 */
export function requireFewSamples(series: number, { fromMs, toMs }: TimeRange, firstMs: number): void {
  const minutes = Math.max(0, toMs - Math.max(fromMs, firstMs)) / 60_000;
  if (series * minutes > MAX_RESPONSE_SAMPLES)
    throw new HttpError(
      400,
      `name: ${series} metrics over ${Math.ceil(minutes / 1440)} days are ${Math.ceil(series * minutes)} samples at one a minute, ` +
        `and at most ${MAX_RESPONSE_SAMPLES} can be read as stored; set step=3600, or ask for fewer names or a shorter range`,
    );
}

/**
 * Refuses a request for one metric's samples as stored if the read has found too many. Call it before writing
 * the response.
 *
 * @throws {HttpError} 400
 */
export function requireSendable(samples: number): void {
  if (samples > MAX_RESPONSE_SAMPLES)
    throw new HttpError(
      400,
      `from, to: the metric has ${samples} samples in this range, and at most ${MAX_RESPONSE_SAMPLES} can be read as stored; set step, or ask for a shorter range`,
    );
}
