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
