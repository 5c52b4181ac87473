import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { drain } from '../../scripts/ops/drain';
import type { Functions } from '../../scripts/ops/invoke';
import type { StageDescription } from '../../shared/operations/stage-command';
import { metaKeys } from '../../shared/platform/keys';
import type { RedriveResult } from '../../shared/recovery/redrive';
import { ARRIVAL_SLACK_MS } from '../../shared/recovery/watermarks';
import type { Stores } from './stores';
import { until } from './until';

/**
 * Empties memory, then runs the steps of the schedules now, until a redriven object is removed.
 *
 * @param key the object's key. Its entry is made a minute older, because it would otherwise stay for that time
 */
export async function removeRedriven(functions: Functions, stores: Stores, key: string): Promise<void> {
  await drain(functions, () => {});
  const { metaTable } = await functions.invoke<StageDescription>('operator', { command: 'stage' });
  await stores.dynamodb.send(
    new UpdateItemCommand({
      TableName: metaTable,
      Key: metaKeys.redriven(key),
      UpdateExpression: 'SET watermarkMs = watermarkMs - :slack',
      ExpressionAttributeValues: { ':slack': { N: String(ARRIVAL_SLACK_MS) } },
    }),
  );
  let removed = 0;
  await until(
    `${key} to be removed`,
    async () => {
      // The recovery function's heartbeats move the shards' watermarks. The flushers move the flushed-until
      // time.
      await functions.invoke('recovery', {});
      for (const lane of [0, 1]) await functions.invoke('flusher', { lane, lanes: 2 });
      const redrive = { action: 'redrive', kind: 'onFailure' };
      removed += (await functions.invoke<RedriveResult>('recovery', redrive)).removed;
      return removed;
    },
    (seen) => seen > 0,
  );
}
