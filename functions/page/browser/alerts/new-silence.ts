import type { NewSilence } from '../api/alerting';
import type { LabelMap } from '../api/promql-results';

/** Scope of a new silence: a single alert, or all alerts with its name. */
export type SilenceScope = 'alert' | 'name';

/** The available lengths of a silence, in seconds. */
export const SILENCE_LENGTHS: readonly (readonly [seconds: number, text: string])[] = [
  [3600, '1 hour'],
  [4 * 3600, '4 hours'],
  [86_400, '1 day'],
  [7 * 86_400, '1 week'],
  [30 * 86_400, '30 days'],
];

/**
 * Returns a silence that starts now. Its scope is one alert, or all alerts of the same name.
 *
 * @param lengthS length of the silence, in seconds
 */
export function newSilence(
  labels: LabelMap,
  scope: SilenceScope,
  comment: string,
  lengthS: number,
  nowMs: number,
): NewSilence {
  const names = scope === 'alert' ? Object.keys(labels) : ['alertname'];
  return {
    matchers: names.map((name) => ({ name, value: labels[name]!, isRegex: false, isEqual: true })),
    startsAt: new Date(nowMs).toISOString(),
    endsAt: new Date(nowMs + lengthS * 1000).toISOString(),
    createdBy: 'the page',
    comment,
  };
}
