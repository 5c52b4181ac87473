import { ReadBudget } from '../../../shared/query/read-budget';
import { TierSamples } from '../../../shared/query/tier-samples';

const MINUTE_MS = 60_000;
const limits = { series: 10, samples: 10, sources: 10 };

test('a query that starts again stops the selections that are still being read', async () => {
  const budgets: ReadBudget[] = [];
  const querier = {
    select: async (_: unknown, __: unknown, { budget }: { budget?: ReadBudget } = {}) => {
      budgets.push(budget!);
      return { blocks: [] } as never;
    },
  };
  const store = new TierSamples(querier as never, 60 * MINUTE_MS, 60 * MINUTE_MS, new ReadBudget(limits));
  await store.select([], { fromMs: 0, toMs: MINUTE_MS });
  store.release();
  await store.select([], { fromMs: 0, toMs: MINUTE_MS });
  expect(budgets.map(({ signal }) => signal.aborted)).toEqual([true, false]);
});
