import { DAY_MS } from '../model/duration';
import { type Day, dayOf, dayStartMs, EPOCH_LEAD_MS, type Placement } from '../model/placement';

/**
 * Maximum number of epochs in a tenant's placement. It is limited because deleting a source's samples writes
 * a record to every partition that the source has ever been in.
 */
export const MAX_EPOCHS = 32;

/** The requested change of the number of partitions is not allowed. */
export class EpochError extends Error {
  override readonly name = 'EpochError';
}

/**
 * Returns the first day on which a new epoch may begin. No writer places samples of that day or a later day
 * yet. If an epoch is published now, every writer learns of it before placing such samples.
 */
export function firstFreeDay(nowMs: number): Day {
  return dayOf(Math.ceil((nowMs + EPOCH_LEAD_MS) / DAY_MS) * DAY_MS);
}

/**
 * Plans a placement with `partitions` partitions from `fromDay` on. Earlier days keep their number of
 * partitions, so no stored data moves. Epochs already published for `fromDay` or later are replaced.
 *
 * @param fromDay @default {@link firstFreeDay}
 * @throws {EpochError}
 */
export function planEpoch(
  { epochs }: Placement,
  partitions: number,
  nowMs: number,
  fromDay: Day = firstFreeDay(nowMs),
): Placement {
  if (!isDay(fromDay))
    throw new EpochError(`from: ${JSON.stringify(fromDay)} is not a day such as 2026-11-21`);
  const first = firstFreeDay(nowMs);
  if (fromDay < first)
    throw new EpochError(
      `from: ${fromDay} is too early: writers may already have samples of that day, and some would place them by the old number of partitions; give ${first} or later`,
    );
  const kept = epochs.filter((epoch) => epoch.fromDay < fromDay);
  if (kept.at(-1)?.partitions === partitions) return { epochs: kept };
  if (kept.length >= MAX_EPOCHS)
    throw new EpochError(
      `partitions: their number has changed ${kept.length - 1} times, the most that is allowed`,
    );
  return { epochs: [...kept, { fromDay, partitions }] };
}

function isDay(text: string): boolean {
  return (
    /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(dayStartMs(text)) && dayOf(dayStartMs(text)) === text
  );
}
