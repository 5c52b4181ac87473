import { evaluateRules } from '../../../shared/alerting/evaluate-rules';
import { NO_RECEIVERS } from '../../../shared/alerting/receivers';
import { parseRuleGroup } from '../../../shared/alerting/rule-file';
import { tenantIdOf } from '../../../shared/model/placement';
import { parseSettings } from '../../../shared/platform/settings';
import { MemorySampleStore } from '../../../shared/promql/memory-store';
import type { Tenant } from '../../../shared/tenancy/tenants';

const NOON = Date.UTC(2026, 10, 21, 12);
const tenantOf = (name: string): Tenant => ({
  ...{ id: tenantIdOf(name), name },
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 1 }] },
});
const { document } = parseRuleGroup('name: g\nrules: [{ record: one, expr: vector(1) }]');

test("the time of a tenant's rules is charged to the tenant once a call, and not for groups that are not due", async () => {
  const charged: [string, number][] = [];
  const tenants = new Map(['a', 'b', 'idle'].map((name) => [name, tenantOf(name)]));
  const answer = await evaluateRules(
    {
      tenants: { get: async (name) => tenants.get(name) },
      groups: { get: async () => ({ namespace: 'n', document: document! }) },
      states: {
        get: async (tenantId) =>
          tenantId === tenantIdOf('idle')
            ? { ...{ tickMs: NOON, evaluatedMs: NOON, durationMs: 1, queryOffsetMs: 0 }, rules: [] }
            : undefined,
      },
      silences: { list: async () => [] },
      receivers: { get: async () => NO_RECEIVERS },
      samplesOf: () => () => new MemorySampleStore(),
      queryLimitsOf: () => ({ maxSeries: 10, maxSamples: 10, maxPoints: 10 }),
      charge: async ({ name }, tookMs) => void charged.push([name, tookMs]),
      stage: parseSettings({}),
    },
    {
      evaluate: {
        ...{ nowMs: NOON, lagMs: 0, kind: 'rule' },
        groups: ['a', 'a', 'b', 'idle', 'gone'].map((tenant, i) => ({ tenant, group: `${i}` })),
      },
    },
  );
  expect(answer.map(({ tenant, outcome }) => `${tenant} ${outcome}`).sort()).toEqual([
    'a evaluated',
    'a evaluated',
    'b evaluated',
    'gone gone',
    'idle idle',
  ]);
  expect(charged.map(([name]) => name).sort()).toEqual(['a', 'b']);
  expect(charged.every(([, tookMs]) => tookMs > 0)).toBe(true);
});
