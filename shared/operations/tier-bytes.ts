import { type Manifest, sizeOf } from '../cold/manifest';
import type { TierBytes } from '../cost/usage-cost';
import type { HotTier } from '../hot/hot-tier';
import type { PartitionRef } from '../model/placement';
import type { WarmTier } from '../warm/warm-tier';

export interface TierBytesDependencies {
  readonly hot: Pick<HotTier, 'space'>;
  readonly warm: Pick<WarmTier, 'bytes'>;
  readonly manifest: Pick<Manifest, 'days'>;
}

/** Measures a partition's bytes in every tier. Reads all of its warm items. */
export async function partitionBytes(
  { hot, warm, manifest }: TierBytesDependencies,
  ref: PartitionRef,
): Promise<TierBytes> {
  const hotBytes = await hot.space.bytes(ref);
  let warmBytes = 0;
  let coldBytes = 0;
  for (const { day, archived } of await manifest.days(ref, '0000-01-01', '9999-12-31')) {
    if (archived !== undefined) coldBytes += sizeOf(archived).bytes;
    warmBytes += await warm.bytes(ref, day);
  }
  return { hot: hotBytes, warm: warmBytes, cold: coldBytes };
}
