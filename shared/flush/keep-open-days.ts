import { isOpen, type Manifest, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { hasTurn } from '../model/partitions';
import { dayOf, dayStartMs, MAX_AHEAD_MS, type PartitionRef } from '../model/placement';
import type { WarmTier } from '../warm/warm-tier';

const MINUTES = DAY_MS / 60_000;

interface KeepDependencies {
  readonly warm: WarmTier;
  readonly manifest: Manifest;
  readonly now: () => number;
}

/**
 * Keeps warm items of open days from expiring before they are archived. When half of an item's time to live has passed,
 * the item gets its full time to live again, counted from now. Each partition is checked once a day, in a minute that
 * depends on the partition. The flusher does this instead of the archiver, so that nothing expires while the archiver
 * is off or fails.
 *
 * @param warmTtlMs time to live of a warm item from when it is written, in ms
 * @returns the number of extended items. Extending an item costs as many write units as writing it
 */
export async function keepOpenDaysInTurn(
  dependencies: KeepDependencies,
  partitions: readonly PartitionRef[],
  warmTtlMs: number,
): Promise<number> {
  let kept = 0;
  const nowMs = dependencies.now();
  for (const ref of partitions)
    if (hasTurn(ref, nowMs, MINUTES)) kept += await keepOpenDays(dependencies, ref, warmTtlMs);
  return kept;
}

/** Does the work of {@link keepOpenDaysInTurn} for one partition. */
export async function keepOpenDays(
  { warm, manifest, now }: KeepDependencies,
  ref: PartitionRef,
  warmTtlMs: number,
): Promise<number> {
  const nowMs = now();
  const days = await manifest.days(ref, '1970-01-01', dayOf(nowMs + MAX_AHEAD_MS));
  let kept = 0;
  for (const { day } of openSince(days, nowMs - warmTtlMs / 2))
    kept += await warm.extend(ref, day, nowMs + warmTtlMs / 2);
  return kept;
}

/** Selects the open days that may have items that were written at or before `ms`. */
export function openSince(days: readonly ManifestDay[], ms: number): ManifestDay[] {
  return days.filter((entry) => isOpen(entry) && dayStartMs(entry.day) - MAX_AHEAD_MS <= ms);
}
