import { HOUR_MS } from '../model/aggregates';

/** How coarse the units may be that stand for samples, ms; `auto`: the step decides. */
export type SourceResolution = number | 'auto';

/**
 * The longest stored unit that may stand for samples; undefined: samples are read.
 *
 * `auto` is a fifth of the step, as in Thanos, but an hour from steps of an hour on, since Thanos' five minutes are not stored; an hour for
 * an instant query.
 *
 * @param stepMs undefined for an instant query
 * @param storedMs lengths of stored units
 * @see https://thanos.io/tip/components/query.md/#auto-downsampling
 */
export function unitWithin(
  resolution: SourceResolution,
  stepMs: number | undefined,
  storedMs: readonly number[],
): number | undefined {
  const automaticMs = stepMs === undefined ? HOUR_MS : Math.max(stepMs / 5, stepMs >= HOUR_MS ? HOUR_MS : 0);
  const mostMs = resolution === 'auto' ? automaticMs : resolution;
  const allowed = storedMs.filter((unitMs) => unitMs <= mostMs);
  return allowed.length === 0 ? undefined : Math.max(...allowed);
}
