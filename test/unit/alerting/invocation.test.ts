import assert from 'node:assert';
import { setImmediate } from 'node:timers/promises';
import { Invocation } from '../../../shared/alerting/invocation';
import type { TaskRef } from '../../../shared/alerting/tasks/evaluation';
import { tenantIdOf } from '../../../shared/model/placement';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import type { SampleStore } from '../../../shared/promql/store';
import type { Tenant } from '../../../shared/tenancy/tenants';
import { queriesOn } from '../../support/queries-on';

test("the groups of a tenant share a read, whose samples are freed after the tenant's last group", async () => {
  const tenant: Tenant = {
    id: tenantIdOf('a'),
    name: 'a',
    placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
  };
  const stored = new MemorySampleStore();
  let reads = 0;
  const select: SampleStore['select'] = async (matchers, range) => {
    reads++;
    return stored.select(matchers, range);
  };
  const invocation = new Invocation({
    queriesOf: queriesOn({ select }),
    charge: async () => {},
  });
  const readOnce = () => invocation.readsOf(tenant).select([], { fromMs: 0, toMs: 1 });
  const readsAfter: number[] = [];
  const tasks: TaskRef[] = ['1', '2', '3'].map((task) => ({ tenant: 'a', task }));
  await invocation.evaluate(tasks, async () => ({
    evaluate: async () => {
      await readOnce();
      readsAfter.push(reads);
      return { outcome: 'idle' };
    },
  }));
  expect(readsAfter).toEqual([1, 1, 1]);
  await readOnce();
  expect(reads).toBe(2);
});

test('the results of tasks that run at the same time fit into a response of Lambda; a task may fill it alone', async () => {
  const evaluate = async (sizes: readonly number[]) => {
    const invocation = new Invocation({ queriesOf: () => assert.fail(), charge: async () => {} });
    const tasks: TaskRef[] = sizes.map((_, i) => ({ tenant: 'a', task: String(i) }));
    const response = await invocation.evaluate(tasks, async ({ task }) => ({
      evaluate: async () => {
        // Let the other tasks begin.
        await setImmediate();
        return {
          outcome: 'evaluated',
          tickMs: 1,
          samples: ['x'.repeat(sizes[Number(task)]!)],
          batches: [],
          ticks: 1,
          skipped: 0,
          failing: 0,
          hasMore: false,
        };
      },
    }));
    return response.map(({ task }) => task);
  };
  const MB = 1_000_000;
  expect(await evaluate([2 * MB, 2 * MB, 2 * MB, MB, MB])).toEqual(['0', '1', '3']);
  expect(await evaluate([5.8 * MB, MB])).toEqual(['0']);
});
