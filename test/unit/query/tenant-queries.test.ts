import { tenantIdOf } from '../../../shared/model/placement';
import type { TimeRange } from '../../../shared/model/selection';
import { parseSettings } from '../../../shared/platform/settings';
import { TenantQueries } from '../../../shared/query/tenant-queries';
import type { LimitOverrides } from '../../../shared/tenancy/limits';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const MINUTE_MS = 60_000;

/** The queries of a tenant whose index never answers, and the ranges that it was asked for. */
function hanging(limits: LimitOverrides) {
  const asked: TimeRange[] = [];
  const dependencies = {
    indexes: {
      of: (_: string, range: TimeRange) => {
        asked.push(range);
        return new Promise(() => {});
      },
    },
    catalogue: { changes: { all: async () => ({}) } },
    hostLabels: { of: async () => ({}) },
  };
  const tenant = { id: tenantIdOf('acme'), name: 'acme', placement: { epochs: [] }, limits };
  return { asked, queries: new TenantQueries(dependencies as never, parseSettings({}), tenant) };
}

beforeEach(() => void jest.useFakeTimers({ now: NOW_MS }));
afterEach(() => void jest.useRealTimers());

test.each([
  { name: "the tenant's limit", querySeconds: 2, timeoutMs: undefined, endsMs: 2_000 },
  {
    name: "the tenant's limit, not the client's longer timeout",
    querySeconds: 2,
    timeoutMs: 9_000,
    endsMs: 2_000,
  },
  { name: "the client's timeout", querySeconds: 2, timeoutMs: 500, endsMs: 500 },
])('a query whose stores do not answer fails after $name', async ({ querySeconds, timeoutMs, endsMs }) => {
  const { queries } = hanging({ querySeconds });
  const failed = jest.fn();
  queries.promql('up', NOW_MS, { timeoutMs }).catch(failed);
  await jest.advanceTimersByTimeAsync(endsMs - 1);
  expect(failed).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(1);
  expect(failed).toHaveBeenCalledWith(expect.objectContaining({ kind: 'timeout' }));
});

test.each([
  { lookbackMs: undefined, minutes: 5 },
  { lookbackMs: 0, minutes: 5 },
  { lookbackMs: 90 * MINUTE_MS, minutes: 90 },
])(
  'a selector looks back $minutes minutes if the client asks for $lookbackMs ms',
  async ({ lookbackMs, minutes }) => {
    const { queries, asked } = hanging({});
    queries.promql('up', NOW_MS, { timeoutMs: 1, lookbackMs }).catch(() => {});
    await jest.advanceTimersByTimeAsync(1);
    expect(asked).toEqual([{ fromMs: NOW_MS - minutes * MINUTE_MS + 1, toMs: NOW_MS + 1 }]);
  },
);

test("a query has the tenant's own limits, and is late once its time has passed", () => {
  const { queries } = hanging({ querySeries: 7, querySamples: 8 });
  const { options, budget } = queries.begin(1_000);
  expect(options.limits).toMatchObject({ maxSeries: 7, maxSamples: 8 });
  expect(budget.limits).toMatchObject({ series: 7, samples: 8 });
  jest.advanceTimersByTime(999);
  expect(options.isLate()).toBe(false);
  jest.advanceTimersByTime(1);
  expect(options.isLate()).toBe(true);
});
