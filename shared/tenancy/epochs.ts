import { DAY_MS } from '../model/duration';
import { type Day, dayOf, dayStartMs, EPOCH_LEAD_MS, type Placement } from '../model/placement';

/** Epochs of a tenant at most: a deletion makes a record for each place of its source. */
export const MAX_EPOCHS = 32;

/** The number of partitions cannot change as asked. */
export class EpochError extends Error {
  override readonly name = 'EpochError';
}

/** The first day that no writer can have accepted samples of yet, nor will before it knows an epoch published now. */
export function firstFreeDay(nowMs: number): Day {
  return dayOf(Math.ceil((nowMs + EPOCH_LEAD_MS) / DAY_MS) * DAY_MS);
}

/**
 * Plans a placement with `partitions` from `fromDay` on. Earlier days keep theirs, so no stored byte moves; epochs that were
 * published for later days give way.
 *
 * @param fromDay by default {@link firstFreeDay}
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
      `from: ${fromDay} is too early: writers may already have samples of it, and some would place them by the old number; give ${first} or later`,
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
