import { drain } from '../../scripts/ops/drain';
import type { Functions } from '../../scripts/ops/invoke';
import type { RedriveResult } from '../../shared/recovery/redrive';
import { until } from './until';

/**
 * Empties memory, then runs the schedule's steps now, until the objects that were redriven are removed.
 *
 * @param count number of objects to wait for
 */
export async function removeRedriven(functions: Functions, count: number): Promise<void> {
  await drain(functions, () => {});
  let removed = 0;
  await until(
    `${count} redriven objects to be removed`,
    async () => {
      // The recovery function's heartbeats move the shards' watermarks. The flushers move the flushed-until
      // time.
      await functions.invoke('recovery', {});
      for (const lane of [0, 1]) await functions.invoke('flusher', { lane, lanes: 2 });
      const redrive = { action: 'redrive', kind: 'onFailure' };
      removed += (await functions.invoke<RedriveResult>('recovery', redrive)).removed;
      return removed;
    },
    (seen) => seen >= count,
  );
}
