import { planSpans } from '../../../shared/archive/rollup-plan';
import type { ManifestDay } from '../../../shared/cold/manifest';
import { NO_STATE, type SpanState } from '../../../shared/cold/rollup-directory';

function archived(day: string, etag = 'e', changes = 1): ManifestDay {
  const part = { key: 'k', etag, bytes: 1, samples: 1, firstGroup: '' };
  return { day, changes: 1, archived: { changes, parts: [part], atMs: 0 } };
}

function stateOf(days: SpanState['days']): string {
  return JSON.stringify({ ...NO_STATE, revision: 3, days });
}

const ROLLED = new Map([
  ['hours#2026-10', stateOf({ '2026-10-31': ['e', 1] })],
  ['hours#2026-11', stateOf({ '2026-11-01': ['e', 1] })],
  ['days#2026', stateOf({ '2026-10-31': ['e', 1], '2026-11-01': ['e', 1] })],
]);

test.each<{
  name: string;
  days: readonly ManifestDay[];
  states: ReadonlyMap<string, string>;
  plans: readonly string[];
}>([
  {
    name: 'makes hours of each month and days of the year at first',
    days: [archived('2026-10-31'), archived('2026-11-01')],
    states: new Map(),
    plans: ['2026-10: 2026-10-31', '2026-11: 2026-11-01', '2026: 2026-10-31 2026-11-01'],
  },
  {
    name: 'leaves what is up to date',
    days: [archived('2026-10-31'), archived('2026-11-01')],
    states: ROLLED,
    plans: [],
  },
  {
    name: 'makes the spans of a day again that was archived again',
    days: [archived('2026-10-31'), archived('2026-11-01', 'another')],
    states: ROLLED,
    plans: ['2026-11: 2026-11-01', '2026: 2026-10-31 2026-11-01'],
  },
  {
    name: 'looks again at a day that was opened and whose objects held all: a deletion may have come',
    days: [archived('2026-10-31'), { ...archived('2026-11-01', 'e', 2), changes: 2 }],
    states: ROLLED,
    plans: ['2026-11: 2026-11-01', '2026: 2026-10-31 2026-11-01'],
  },
  {
    name: 'waits for a day that is open',
    days: [archived('2026-10-31'), { ...archived('2026-11-01'), changes: 2 }],
    states: ROLLED,
    plans: [],
  },
  {
    name: 'removes a span without days',
    days: [archived('2026-11-01')],
    states: ROLLED,
    plans: ['2026-10 goes'],
  },
])('the plan $name', ({ days, states, plans }) => {
  expect(
    planSpans(days, states).map(({ span, closed }) =>
      closed === undefined ? `${span.name} goes` : `${span.name}: ${closed.map(({ day }) => day).join(' ')}`,
    ),
  ).toEqual(plans);
});
