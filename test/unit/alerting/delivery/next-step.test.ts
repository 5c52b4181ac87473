import {
  type Attempt,
  isLater,
  MAX_ATTEMPTS,
  stepAfter,
  stepBefore,
  waitMs,
} from '../../../../shared/alerting/delivery/next-step';
import type { OutboxItem } from '../../../../shared/alerting/tasks/evaluator-store';
import type { NotificationBatch } from '../../../../shared/alerting/tasks/notification';

const NOW_MS = Date.parse('2026-11-23T12:00:00Z');
const HOUR_MS = 3_600_000;
const WAITED = 'it waited for a day behind earlier notifications, or while none were sent';

const batchOf = (repeatsMs?: readonly number[]): NotificationBatch => ({
  tenant: 't',
  namespace: 'n',
  group: 'g',
  tickMs: NOW_MS,
  queryOffsetMs: 0,
  isLate: false,
  notifications: [
    {
      id: 'id',
      state: 'firing',
      labels: [],
      annotations: [],
      value: 1,
      expr: 'x',
      firedAtMs: NOW_MS,
      ...(repeatsMs !== undefined && { repeatsMs }),
    },
  ],
});
const itemOf = (fields: Partial<OutboxItem>): OutboxItem => ({
  key: 'key',
  tenantId: 'id',
  batch: batchOf(),
  attempts: 0,
  dueMs: 0,
  taken: [],
  refused: [],
  stored: {},
  expiresMs: NOW_MS + 24 * HOUR_MS,
  ...fields,
});
/** An item that expires in less than an hour. */
const ENDING = { expiresMs: NOW_MS + HOUR_MS - 1 };

test.each([
  { name: 'a new batch is attempted', next: { step: 'attempt' } },
  { name: 'a batch that waits for an earlier one waits', state: { isStopped: true }, next: { step: 'wait' } },
  {
    name: 'a batch with 1,000 newer ones is given up with the reason',
    item: { refused: ['a fails'] },
    state: { newer: 1_000 },
    next: {
      step: 'giveUp',
      item: { refused: ['a fails', 'more than 1000 batches of notifications waited'], attempts: 0 },
    },
  },
  { name: 'a batch with 999 newer ones is attempted', state: { newer: 999 }, next: { step: 'attempt' } },
  {
    name: 'a batch that was never attempted has an attempt in its last hour',
    item: ENDING,
    next: { step: 'attempt' },
  },
  {
    name: 'a batch whose attempts failed is given up an hour before it expires',
    item: { ...ENDING, attempts: 1 },
    next: { step: 'giveUp', item: { refused: [WAITED], attempts: 1 } },
  },
  {
    name: 'a batch whose attempts failed is attempted while it has an hour left',
    item: { expiresMs: NOW_MS + HOUR_MS, attempts: 1 },
    next: { step: 'attempt' },
  },
  {
    name: 'a batch that waits for an earlier one waits no longer in its last hour',
    item: ENDING,
    state: { isStopped: true },
    next: { step: 'attempt' },
  },
  {
    name: 'an expired batch is given up without an attempt',
    item: { expiresMs: NOW_MS - 1 },
    next: { step: 'giveUp', item: { refused: [WAITED], attempts: 0 } },
  },
])('$name', ({ item, state, next }) => {
  expect(
    stepBefore(itemOf(item ?? {}), { newer: 0, isStopped: false, nowMs: NOW_MS, ...state }),
  ).toMatchObject(next);
});

/** An attempt of a batch with the destinations `a` and `b`. */
const attemptOf = (
  taken: readonly string[],
  failing: readonly string[] = [],
  refused: readonly string[] = [],
) =>
  ({
    taken: new Set(taken),
    isTaken: taken.includes('a') && taken.includes('b'),
    refused: new Set(refused),
    failures: new Map(failing.map((id) => [id, `${id} fails`])),
  }) satisfies Attempt;

test.each([
  {
    name: 'a batch that all destinations accepted is sent',
    attempt: attemptOf(['a', 'b']),
    next: { step: 'sent' },
  },
  {
    name: 'a batch that one rejected is given up once all others accepted it',
    attempt: attemptOf(['a', 'b'], [], ['a refuses']),
    next: { step: 'refused', item: { attempts: 1, taken: ['a', 'b'], refused: ['a refuses'] } },
  },
  {
    name: 'a batch that one rejected is put off while another fails',
    attempt: attemptOf(['a'], ['b'], ['a refuses']),
    next: {
      step: 'putOff',
      item: { attempts: 1, taken: ['a'], refused: ['a refuses'], dueMs: NOW_MS + waitMs(1) },
    },
  },
  {
    name: 'a failed attempt is repeated after a wait that grows',
    item: { attempts: 4 },
    attempt: attemptOf([], ['a', 'b']),
    next: { step: 'putOff', item: { attempts: 5, dueMs: NOW_MS + waitMs(5) } },
  },
  { name: 'a batch that only waited stays as it is', attempt: attemptOf([]), next: { step: 'wait' } },
  {
    name: 'progress is stored, without a wait, if the other destination has waited',
    item: { attempts: 2, dueMs: NOW_MS },
    attempt: attemptOf(['a']),
    next: { step: 'putOff', item: { attempts: 2, dueMs: NOW_MS, taken: ['a'] } },
  },
  {
    name: 'progress of an earlier attempt is not stored again',
    item: { taken: ['a'] },
    attempt: attemptOf(['a']),
    next: { step: 'wait' },
  },
  {
    name: 'the last attempt gives up, and names the destinations that failed',
    item: { attempts: MAX_ATTEMPTS - 1 },
    attempt: attemptOf(['a'], ['b']),
    next: { step: 'giveUp', failing: ['b'], item: { attempts: MAX_ATTEMPTS, refused: ['b fails'] } },
  },
  {
    name: 'an attempt in the last hour gives up, and blames no destination',
    item: ENDING,
    attempt: attemptOf(['a'], ['b']),
    next: { step: 'giveUp', failing: [], item: { attempts: 1, refused: ['b fails'] } },
  },
  {
    name: 'a batch that waited into its last hour is given up without an attempt',
    item: ENDING,
    attempt: attemptOf([]),
    next: { step: 'giveUp', failing: [], item: { attempts: 0, refused: [WAITED] } },
  },
  {
    name: 'an accepted batch is sent in its last hour',
    item: ENDING,
    attempt: attemptOf(['a', 'b']),
    next: { step: 'sent' },
  },
  {
    name: 'a repeat is never retried',
    item: { batch: batchOf([60_000]) },
    attempt: attemptOf([], ['a', 'b']),
    next: { step: 'sent' },
  },
  {
    name: 'a damaged notification among repeats may be a change, so the batch is retried',
    item: { batch: batchOf([60_000]), damaged: 1 },
    attempt: attemptOf([], ['a', 'b']),
    next: { step: 'putOff' },
  },
])('$name', ({ item, attempt, next }) => {
  expect(stepAfter(itemOf(item ?? {}), attempt, { beganMs: NOW_MS, nowMs: NOW_MS })).toMatchObject(next);
});

test.each([
  { name: 'without progress', attempt: attemptOf([]), next: { step: 'wait' } },
  {
    name: 'with progress',
    attempt: attemptOf(['a']),
    next: { step: 'putOff', item: { taken: ['a'], attempts: 0 } },
  },
  {
    name: 'with a failure',
    attempt: attemptOf([], ['a']),
    next: { step: 'putOff', item: { taken: [], attempts: 0 } },
  },
])(
  'the last attempt of a batch is continued if the run had no time for the rest, $name',
  ({ attempt, next }) => {
    const times = { beganMs: NOW_MS, nowMs: NOW_MS };
    expect(stepAfter(itemOf(ENDING), { ...attempt, isCut: true }, times)).toMatchObject(next);
  },
);

test('a batch whose last hour begins during an attempt has another one', () => {
  const times = { beganMs: NOW_MS - 1, nowMs: NOW_MS };
  expect(stepAfter(itemOf(ENDING), attemptOf([], ['a']), times)).toMatchObject({ step: 'putOff' });
});

test.each([
  { name: 'a time in the past is not later', inMs: -1, later: false },
  { name: 'a time that a clock minutes ahead set is later', inMs: 14 * 60_000, later: true },
  { name: 'a time that a wrong clock set is not later', inMs: 12 * HOUR_MS, later: false },
])('$name', ({ inMs, later }) => {
  expect(isLater({ dueMs: NOW_MS + inMs }, NOW_MS)).toBe(later);
});
