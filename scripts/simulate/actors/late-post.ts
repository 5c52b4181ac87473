import { MINUTE_MS } from '../../../shared/model/duration';
import type { Random } from '../../faults/random';
import type { Stage } from '../stage';

/** A past minute of one host, and a post of all its series for that minute. */
export interface LatePost extends NonNullable<ReturnType<Stage['anyHost']>> {
  /** Time of the samples, as Unix time in seconds. */
  readonly time: number;
  /** Posts a new random value for each series. */
  post(): Promise<unknown>;
}

/**
 * Chooses a host and a past minute at random.
 *
 * @param minutesAgo how long ago the minute began: minimum and maximum
 * @returns undefined if the host is retired, or if the minute is before the start of the simulation
 */
export function latePost(
  stage: Stage,
  random: Random,
  minutesAgo: readonly [number, number],
): LatePost | undefined {
  const chosen = stage.anyHost(random);
  if (chosen === undefined || chosen.host.state === 'retired') return undefined;
  const { tenant, host } = chosen;
  const time = Math.floor(stage.nowMs / MINUTE_MS) * 60 - random.integer(...minutesAgo) * 60;
  if (time < stage.startS) return undefined;
  const post = () =>
    stage.post(
      tenant,
      host.series.map((series) => ({ series, time, value: random.integer(0, 1e6) / 128 })),
    );
  return { ...chosen, time, post };
}
