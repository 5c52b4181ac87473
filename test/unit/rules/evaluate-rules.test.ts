import { NO_RECEIVERS } from '../../../shared/alerting/delivery/receivers';
import { tenantIdOf } from '../../../shared/model/placement';
import { parseSettings } from '../../../shared/platform/settings';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import type { SampleStore } from '../../../shared/promql/store';
import { evaluateRules } from '../../../shared/rules/evaluate-rules';
import { parseRuleGroup } from '../../../shared/rules/rule-file';
import type { Tenant } from '../../../shared/tenancy/tenants';
import { queriesOn } from '../../support/queries-on';

const NOON = Date.UTC(2026, 10, 21, 12);
const tenantOf = (name: string): Tenant => ({
  id: tenantIdOf(name),
  name,
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
});
const { document } = parseRuleGroup('name: g\nrules: [{ record: one, expr: up }]');

test('the time of a call is charged once to each tenant whose rules were due, and no more than all of it', async () => {
  const charged: [string, number][] = [];
  // The reads of both tenants end together, so that the turns of the tenants take the same time.
  let reads = 0;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const store = new MemorySampleStore();
  const select: SampleStore['select'] = async (matchers, range) => {
    if (++reads === 2) setTimeout(end, 20);
    await ended;
    return store.select(matchers, range);
  };
  const startedMs = performance.now();
  const tenants = new Map(['a', 'b', 'idle'].map((name) => [name, tenantOf(name)]));
  const evaluations = await evaluateRules(
    {
      tenants: { get: async (name) => tenants.get(name) },
      ruleGroups: { get: async () => ({ namespace: 'n', document: document! }) },
      states: {
        get: async (tenantId) =>
          tenantId === tenantIdOf('idle')
            ? { tickMs: NOON, evaluatedMs: NOON, durationMs: 1, queryOffsetMs: 0, rules: [] }
            : undefined,
      },
      silences: { list: async () => [] },
      receivers: { get: async () => NO_RECEIVERS },
      queriesOf: queriesOn({ select }),
      charge: async ({ name }, tookMs) => void charged.push([name, tookMs]),
      stage: parseSettings({}),
    },
    {
      nowMs: NOON,
      lagMs: 0,
      kind: 'rule',
      tasks: ['a', 'a', 'b', 'idle', 'gone'].map((tenant, i) => ({ tenant, task: `${i}` })),
    },
  );
  expect(evaluations.map(({ tenant, outcome }) => `${tenant} ${outcome}`).sort()).toEqual([
    'a evaluated',
    'a evaluated',
    'b evaluated',
    'gone gone',
    'idle idle',
  ]);
  expect(charged.map(([name]) => name).sort()).toEqual(['a', 'b']);
  expect(charged.every(([, tookMs]) => tookMs > 0)).toBe(true);
  const sumMs = charged.reduce((sum, [, tookMs]) => sum + tookMs, 0);
  expect(sumMs).toBeLessThanOrEqual(performance.now() - startedMs);
});
