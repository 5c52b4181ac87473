import type { Alert } from '../../../shared/alerting/alert-state';
import { type ToldAlert, transitionsOf } from '../../../shared/alerting/notification';
import { type Labels, labelsOf } from '../../../shared/model/labels';

const labels: Labels = labelsOf(['alertname', 'High'], ['job', 'shop']);
const alert = (fields: Partial<Alert>): Alert => ({
  labels,
  annotations: [],
  value: 20,
  activeAtMs: 1_000,
  state: 'firing',
  firedAtMs: 2_000,
  ...fields,
});
const told: ToldAlert = { labels, annotations: [], value: 20, firedAtMs: 2_000 };
const rule = { id: 'tenant group rule', expr: 'x > 10' };

test.each<{ name: string; told: ToldAlert[]; alerts: Alert[] | undefined; said: unknown[] }>([
  { name: 'an alert that fires is told', told: [], alerts: [alert({})], said: [['firing', 2_000]] },
  { name: 'an alert is told once', told: [told], alerts: [alert({})], said: [] },
  { name: 'a pending alert is not told', told: [], alerts: [alert({ state: 'pending' })], said: [] },
  {
    name: 'an alert that fired and ended since is not told',
    told: [],
    alerts: [alert({ state: 'resolved', resolvedAtMs: 3_000 })],
    said: [],
  },
  {
    name: 'the end of a told alert is told, with its slot',
    told: [told],
    alerts: [alert({ state: 'resolved', resolvedAtMs: 3_000 })],
    said: [['resolved', 2_000, 3_000, 'no longer true']],
  },
  {
    name: 'an alert that ended and fires anew is told to have ended and to fire',
    told: [told],
    alerts: [alert({ firedAtMs: 5_000 })],
    said: [
      ['resolved', 2_000, 6_000, 'no longer true'],
      ['firing', 5_000],
    ],
  },
  {
    name: 'the alerts of a removed rule end',
    told: [told],
    alerts: undefined,
    said: [['resolved', 2_000, 6_000, 'rule removed']],
  },
])('$name', ({ told, alerts, said }) => {
  const { notifications, told: next } = transitionsOf(rule, told, alerts, 6_000);
  expect(
    notifications.map(({ state, firedAtMs, resolvedAtMs, reason }) =>
      [state, firedAtMs, resolvedAtMs, reason].filter((each) => each !== undefined),
    ),
  ).toEqual(said);
  // Once told, a transition is not told again.
  expect(transitionsOf(rule, next, alerts, 7_000).notifications).toEqual([]);
});

test('a transition that is found twice has the same id', () => {
  const [first] = transitionsOf(rule, [], [alert({})], 2_000).notifications;
  const [again] = transitionsOf(rule, [], [alert({ value: 21 })], 3_000).notifications;
  const [other] = transitionsOf(rule, [], [alert({ firedAtMs: 3_000 })], 3_000).notifications;
  expect(again!.id).toBe(first!.id);
  expect(other!.id).not.toBe(first!.id);
});
