import { planSpans } from '../../../shared/archive/rollup-plan';
import type { ManifestDay } from '../../../shared/cold/manifest';
import { NO_STATE, type SpanState } from '../../../shared/cold/rollup-directory';

function archived(day: string, etag = 'e', announcements = 1): ManifestDay {
  const part = { key: 'k', etag, bytes: 1, samples: 1, firstGroup: '' };
  return { day, announcements: 1, archived: { identity: etag, announcements, parts: [part], atMs: 0 } };
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
    name: 'makes the spans of a day again if the day was archived again',
    days: [archived('2026-10-31'), archived('2026-11-01', 'another')],
    states: ROLLED,
    plans: ['2026-11: 2026-11-01', '2026: 2026-10-31 2026-11-01'],
  },
  {
    name: 'makes a day again that was opened although its objects were complete: a deletion may have arrived',
    days: [archived('2026-10-31'), { ...archived('2026-11-01', 'e', 2), announcements: 2 }],
    states: ROLLED,
    plans: ['2026-11: 2026-11-01', '2026: 2026-10-31 2026-11-01'],
  },
  {
    name: 'waits for a day that is open',
    days: [archived('2026-10-31'), { ...archived('2026-11-01'), announcements: 2 }],
    states: ROLLED,
    plans: [],
  },
  {
    name: 'removes a span without days',
    days: [archived('2026-11-01')],
    states: ROLLED,
    plans: ['2026-10 goes'],
  },
  {
    name: 'leaves a span alone that was removed before',
    days: [archived('2026-11-01')],
    states: new Map([...ROLLED, ['hours#2026-10', stateOf({})]]),
    plans: [],
  },
])('the plan $name', ({ days, states, plans }) => {
  expect(
    planSpans(days, states).map(({ span, closed }) =>
      closed === undefined ? `${span.name} goes` : `${span.name}: ${closed.map(({ day }) => day).join(' ')}`,
    ),
  ).toEqual(plans);
});
