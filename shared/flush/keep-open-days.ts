import { isOpen, type Manifest, type ManifestDay } from '../cold/manifest';
import { DAY_MS } from '../model/duration';
import { dayOf, dayStartMs, MAX_AHEAD_MS, type PartitionRef } from '../model/placement';
import type { WarmTier } from '../warm/warm-tier';

const MINUTE_MS = 60_000;
const MINUTES = DAY_MS / MINUTE_MS;

interface KeepDependencies {
  readonly warm: WarmTier;
  readonly manifest: Manifest;
  readonly now: () => number;
}

/**
 * Puts off the expiry of warm items that nobody archived for half of their life, of the partitions whose turn it is. The
 * flusher does it, not the archiver, so that nothing expires for as long as that is off or fails.
 *
 * @param warmTtlMs life of a warm item, from when it was written
 * @returns items whose expiry was put off: each costs as many write units as it did when it was written
 */
export async function keepOpenDaysInTurn(
  dependencies: KeepDependencies,
  partitions: readonly PartitionRef[],
  warmTtlMs: number,
): Promise<number> {
  let kept = 0;
  for (const ref of partitionsInTurn(partitions, dependencies.now()))
    kept += await keepOpenDays(dependencies, ref, warmTtlMs);
  return kept;
}

/** {@link keepOpenDaysInTurn} of one partition. */
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

/** Open days that may have items written at `ms` or before. */
export function openSince(days: readonly ManifestDay[], ms: number): ManifestDay[] {
  return days.filter((entry) => isOpen(entry) && dayStartMs(entry.day) - MAX_AHEAD_MS <= ms);
}

/** The partitions whose turn it is this minute; each has one a day. */
export function partitionsInTurn(partitions: readonly PartitionRef[], nowMs: number): PartitionRef[] {
  const minute = Math.floor(nowMs / MINUTE_MS) % MINUTES;
  return partitions.filter(({ tenantId, partition }) => {
    const turn = Buffer.from(tenantId, 'base64url').readUInt16LE() + partition;
    return turn % MINUTES === minute;
  });
}
