import type { Alert } from '../../../shared/alerting/delivery/alert';
import { type Labels, labelsOf } from '../../../shared/model/labels';
import {
  type NotificationPolicy,
  type ReportedAlert,
  transitionsOf,
} from '../../../shared/rules/transitions';

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
const told: ReportedAlert = { labels, annotations: [], value: 20, firedAtMs: 2_000 };
const rule = { id: 'tenant group rule', expr: 'x > 10' };

test.each<{ name: string; told: ReportedAlert[]; alerts: Alert[] | undefined; said: unknown[] }>([
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
    name: 'the end of a told alert is told, with its tick',
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
  const { notifications, told: next } = transitionsOf(rule, told, alerts, { tickMs: 6_000 });
  expect(
    notifications.map(({ state, firedAtMs, resolvedAtMs, reason }) =>
      [state, firedAtMs, resolvedAtMs, reason].filter((each) => each !== undefined),
    ),
  ).toEqual(said);
  // After its notification, a transition is not reported again.
  expect(transitionsOf(rule, next, alerts, { tickMs: 7_000 }).notifications).toEqual([]);
});

test('a transition that is found twice has one id', () => {
  const [first] = transitionsOf(rule, [], [alert({})], { tickMs: 2_000 }).notifications;
  const [again] = transitionsOf(rule, [], [alert({ value: 21 })], { tickMs: 3_000 }).notifications;
  const [other] = transitionsOf(rule, [], [alert({ firedAtMs: 3_000 })], { tickMs: 3_000 }).notifications;
  expect(again!.id).toBe(first!.id);
  expect(other!.id).not.toBe(first!.id);
});

describe('while an alert is silenced', () => {
  const silenced: NotificationPolicy = { isSilenced: () => true, repeatsMs: [60_000] };

  test('receivers are not notified; once the silence has ended, they are notified of the present state', () => {
    const during = transitionsOf(rule, [], [alert({})], { tickMs: 6_000 }, silenced);
    expect(during).toEqual({ notifications: [], told: [] });
    const after = transitionsOf(rule, during.told, [alert({})], { tickMs: 7_000 });
    expect(after.notifications).toMatchObject([{ state: 'firing', firedAtMs: 2_000 }]);
    expect(transitionsOf(rule, during.told, [], { tickMs: 7_000 }).notifications).toEqual([]);
  });

  test('the end of an alert reported before the silence is reported after it', () => {
    const during = transitionsOf(rule, [told], [], { tickMs: 6_000 }, silenced);
    expect(during).toEqual({ notifications: [], told: [told] });
    const after = transitionsOf(rule, during.told, [], { tickMs: 7_000 });
    expect(after.notifications).toMatchObject([{ state: 'resolved', firedAtMs: 2_000, resolvedAtMs: 7_000 }]);
  });

  test('an alert reported before the silence that ended and fires again is reported twice after it', () => {
    const anew = [alert({ firedAtMs: 5_000 })];
    const during = transitionsOf(rule, [told], anew, { tickMs: 6_000 }, silenced);
    expect(during).toEqual({ notifications: [], told: [told] });
    const { notifications } = transitionsOf(rule, during.told, anew, { tickMs: 7_000 });
    expect(notifications.map(({ state, firedAtMs }) => [state, firedAtMs])).toEqual([
      ['resolved', 2_000],
      ['firing', 5_000],
    ]);
  });
});

describe('an alert that keeps firing', () => {
  const MINUTE_MS = 60_000;
  const firing = [alert({})];
  const at = (minute: number) => 2_000 + minute * MINUTE_MS;
  const repeatsAt = (tick: number, before: number, policy: Partial<NotificationPolicy> = {}) =>
    transitionsOf(
      rule,
      [told],
      firing,
      { tickMs: at(tick), beforeMs: at(before) },
      { isSilenced: () => false, repeatsMs: [MINUTE_MS, 5 * MINUTE_MS], ...policy },
    ).notifications;

  test.each([
    { tick: 1, before: 0, repeats: [MINUTE_MS] },
    { tick: 5, before: 4, repeats: [MINUTE_MS, 5 * MINUTE_MS] },
    { tick: 6.5, before: 6, repeats: [] },
    { tick: 13, before: 3, repeats: [MINUTE_MS, 5 * MINUTE_MS] },
  ])('is reported again at multiples of the repeat intervals: minute $tick after $before', (each) => {
    expect(repeatsAt(each.tick, each.before).flatMap(({ repeatsMs }) => repeatsMs)).toEqual(each.repeats);
  });

  test('has another id each time, and is not reported while it is silenced', () => {
    const ids = [
      repeatsAt(1, 0),
      repeatsAt(2, 1),
      transitionsOf(rule, [], firing, { tickMs: 2_000 }).notifications,
    ];
    expect(new Set(ids.map(([first]) => first!.id)).size).toBe(3);
    expect(repeatsAt(1, 0, { isSilenced: () => true })).toEqual([]);
  });
});
