import type { Manifest } from '../cold/manifest';
import type { HotClient } from '../hot/connection';
import type { PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { HotKeys, parseWindowMember, warmKeys } from '../platform/keys';
import { queryAll, type Table } from '../platform/table';
import type { TierBytes } from '../tenancy/cost';

export interface TierBytesDependencies {
  readonly hot: HotClient;
  readonly warm: Table;
  readonly manifest: Manifest;
}

/** Lists of a partition whose memory is asked for. */
const LISTS_LOOKED_AT = 32;

/** Measures a partition. Reads every warm item of it: one read unit for 8 KB. */
export async function partitionBytes(
  { hot, warm, manifest }: TierBytesDependencies,
  ref: PartitionRef,
): Promise<TierBytes> {
  const keys = new HotKeys(ref);
  const [lists, members] = await Promise.all([
    hot.zcard(keys.due),
    hot.zrange(keys.due, '0', String(LISTS_LOOKED_AT - 1)),
  ]);
  const sizes = await mapLimited(members, 8, async (member) => {
    const { group, windowStart } = parseWindowMember(member);
    return (await hot.memory('USAGE', keys.frames(group, windowStart), 'SAMPLES', 0)) ?? 0;
  });
  const looked = sizes.reduce((sum, bytes) => sum + bytes, 0);

  let warmBytes = 0;
  let coldBytes = 0;
  for (const { day, archived } of await manifest.days(ref, '0000-01-01', '9999-12-31')) {
    coldBytes += archived?.bytes ?? 0;
    const items = queryAll(warm, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: warmKeys.partition(ref, day) } },
    });
    for await (const { chunk } of items) warmBytes += chunk?.B?.length ?? 0;
  }
  return {
    hot: sizes.length === 0 ? 0 : Math.round((looked / sizes.length) * lists),
    warm: warmBytes,
    cold: coldBytes,
  };
}
