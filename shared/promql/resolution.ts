import { HOUR_MS } from '../model/duration';

/**
 * Maximum length, in ms, of the grains that may replace samples. With `auto`, the maximum depends on the query's step.
 */
export type SourceResolution = number | 'auto';

/**
 * Returns the longest stored grain that may replace samples; undefined if samples must be read.
 *
 * `auto` allows grains of up to a fifth of the step, as Thanos does. For steps of an hour and longer, and for an
 * instant query, it allows grains of an hour: Thanos would use grains of five minutes in these cases, which are not
 * stored here.
 *
 * @param stepMs undefined for an instant query
 * @param storedMs lengths of the stored grains, in ms
 * @see https://thanos.io/tip/components/query.md/#auto-downsampling
 */
export function grainWithin(
  resolution: SourceResolution,
  stepMs: number | undefined,
  storedMs: readonly number[],
): number | undefined {
  const automaticMs = stepMs === undefined ? HOUR_MS : Math.max(stepMs / 5, stepMs >= HOUR_MS ? HOUR_MS : 0);
  const mostMs = resolution === 'auto' ? automaticMs : resolution;
  const allowed = storedMs.filter((grainMs) => grainMs <= mostMs);
  return allowed.length === 0 ? undefined : Math.max(...allowed);
}
