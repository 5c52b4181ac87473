import type { ManifestDay } from '../../../shared/cold/manifest';
import type { RolledSource } from '../../../shared/cold/rollup-directory';
import { rollUp } from '../../../shared/cold/rollup-grains';
import { deletionsKey, SpanDays, spanOf } from '../../../shared/cold/rollup-span';
import { RollupWriter } from '../../../shared/cold/rollup-writer';
import type { VersionedDeletion } from '../../../shared/model/deletion';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { dayStartMs, daysIn, type GroupId, groupIdOf } from '../../../shared/model/placement';
import type { TimeRange } from '../../../shared/model/selection';
import { planRollups, type RollupFacts } from '../../../shared/query/rollup-plan';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const HOURS = { grainMs: HOUR, edges: 'steps' } as const;
const BY_DAY = { grainMs: DAY, edges: 'steps' } as const;
const DAYS = ['2026-10-31', '2026-11-01', '2026-11-02'] as const;
const [FIRST_MS, , LAST_MS] = DAYS.map(dayStartMs) as [number, number, number];
const SOURCE_ID = 'abcdefghijklmnopqrstuv';
const WHOLE = groupIdOf(SOURCE_ID, 0, 0);
const HALF = groupIdOf(SOURCE_ID, 1, 0);
const layout = layoutOf([metricOf(sourceOf.host('h'), 'cpu')]);

function archived(day: string, identity = stateOf(day), announcements = 2): ManifestDay {
  const part = { key: 'k', etag: 'e', bytes: 1, samples: 1, firstGroup: WHOLE };
  return { day, announcements: 2, archived: { identity, announcements, parts: [part], atMs: 0 } };
}

const stateOf = (day: string) => Buffer.from(day.slice(2)).toString('hex');

/** The rollups of every month of DAYS, written when the days were as {@link archived} returns them by default. */
function rolledUp(
  grainMs: number,
  {
    deletions = '',
    groups = [WHOLE],
    excluded = [],
  }: { deletions?: string; groups?: readonly GroupId[]; excluded?: readonly GroupId[] } = {},
): Map<string, RolledSource> {
  const spans = new Map(DAYS.map((day) => [spanOf(grainMs, day).name, spanOf(grainMs, day)]));
  return new Map(
    [...spans].map(([name, span]) => {
      const days = new SpanDays(span);
      for (const day of DAYS) if (spanOf(grainMs, day).name === name) days.set(day, stateOf(day));
      const writer = new RollupWriter(grainMs);
      const grain = Float64Array.of(LAST_MS);
      const [one] = rollUp({ timestamps: grain, columns: [{ values: grain }] } as never, grainMs)!;
      const series = [one!];
      for (const group of groups) writer.addGroup(group, { layout, series, days: days.bytes, deletions });
      return [
        name,
        {
          span,
          key: 'r',
          etag: 'r',
          days,
          deletions,
          excluded,
          groups: groups.length === 0 ? [] : writer.finish().listed,
        },
      ];
    }),
  );
}

const deletion: VersionedDeletion = {
  selector: { name: '', isPrefix: true },
  fromMs: LAST_MS + HOUR,
  toMs: LAST_MS + 2 * HOUR,
  version: { arrivalMs: 1, sequence: 1n },
};
const tombstone = { fromMs: deletion.fromMs, toMs: deletion.toMs };

function facts(changed: Partial<RollupFacts> = {}): RollupFacts {
  return {
    grains: HOURS,
    range: { fromMs: FIRST_MS, toMs: LAST_MS + DAY },
    entries: DAYS.map((day) => archived(day)),
    rolledUp: rolledUp(changed.grains?.grainMs ?? HOUR),
    groups: [WHOLE],
    isElsewhere: () => false,
    deletions: [],
    tombstones: [],
    ...changed,
  };
}

/** Divides a range at the ends of days. */
function daysOf({ fromMs, toMs }: TimeRange): TimeRange[] {
  return daysIn(fromMs, toMs).map((day) => ({
    fromMs: Math.max(fromMs, dayStartMs(day)),
    toMs: Math.min(toMs, dayStartMs(day) + DAY),
  }));
}

const withLast = (last: ManifestDay) => [archived(DAYS[0]), archived(DAYS[1]), last];

test.each<{ name: string; changed?: Partial<RollupFacts>; samples: readonly string[]; ranges?: string }>([
  { name: 'all days that are rolled up, one object a month', samples: [] },
  { name: 'all days by the day, one object a year', changed: { grains: BY_DAY }, samples: [] },
  {
    name: 'no day of a span that leaves out a group',
    changed: { groups: [WHOLE, HALF], rolledUp: rolledUp(HOUR, { excluded: [HALF] }) },
    samples: DAYS,
  },
  {
    name: 'days of a span that leaves out a group that was not asked for',
    changed: { rolledUp: rolledUp(HOUR, { excluded: [HALF] }) },
    samples: [],
  },
  {
    name: 'the whole hours of a range that ends within a day',
    changed: { range: { fromMs: FIRST_MS, toMs: LAST_MS + HOUR } },
    samples: [],
  },
  {
    name: 'the hours of exact windows, which exclude their start and include their end',
    changed: {
      grains: { grainMs: HOUR, edges: 'exact' },
      range: { fromMs: FIRST_MS + 1, toMs: LAST_MS + HOUR + 1 },
    },
    samples: [],
  },
  {
    name: 'no day that the range cuts within an hour',
    changed: { range: { fromMs: FIRST_MS + 1, toMs: LAST_MS + DAY } },
    samples: [DAYS[0]],
  },
  {
    name: 'no day that the range cuts, by the day',
    changed: { grains: BY_DAY, range: { fromMs: FIRST_MS, toMs: LAST_MS + HOUR } },
    samples: [DAYS[2]],
  },
  {
    name: 'no day that is open',
    changed: { entries: withLast(archived(DAYS[2], undefined, 1)) },
    samples: [DAYS[2]],
  },
  {
    name: 'no day that is not archived',
    changed: { entries: withLast({ day: DAYS[2], announcements: 1, archived: undefined }) },
    samples: [DAYS[2]],
  },
  {
    name: 'no day that was archived again since',
    changed: { entries: withLast(archived(DAYS[2], 'another')) },
    samples: [DAYS[2]],
  },
  {
    name: 'no day that memory or the warm table has samples of',
    changed: { isElsewhere: (day) => day === DAYS[1] },
    samples: [DAYS[1]],
  },
  {
    name: 'no day that an unknown deletion touches',
    changed: { deletions: [deletion], tombstones: [tombstone] },
    samples: [DAYS[2]],
  },
  {
    name: 'days that an unknown deletion of other series touches',
    changed: { deletions: [deletion] },
    samples: [],
  },
  {
    name: 'days whose deletions had been applied',
    changed: {
      deletions: [deletion],
      tombstones: [tombstone],
      rolledUp: rolledUp(HOUR, { deletions: deletionsKey([deletion], spanOf(HOUR, DAYS[2])) }),
    },
    samples: [],
  },
  { name: 'nothing where nothing is rolled up', changed: { rolledUp: new Map() }, samples: DAYS },
  {
    name: 'no day of which groups of two splits have grains',
    changed: { groups: [WHOLE, HALF], rolledUp: rolledUp(HOUR, { groups: [WHOLE, HALF] }) },
    samples: [DAYS[2]],
  },
])('a read takes from rollups $name', ({ changed, samples }) => {
  const requested = facts(changed);
  const plan = planRollups(requested);
  expect(plan.samples.map(({ day }) => day)).toEqual(samples);
  const rolled = requested.entries.filter(({ day }) => !samples.includes(day));
  expect(plan.rollups.flatMap(({ ranges }) => ranges.flatMap(daysOf))).toEqual(
    rolled.map(({ day }) => ({
      fromMs: Math.max(requested.range.fromMs, dayStartMs(day)),
      toMs: Math.min(requested.range.toMs, dayStartMs(day) + DAY),
    })),
  );
  for (const { ranges, days } of plan.rollups) expect(ranges.flatMap(daysOf)).toHaveLength(days);
  expect(plan.rollups.map(({ source: { span } }) => span.name)).toEqual([
    ...new Set(rolled.map(({ day }) => spanOf(requested.grains.grainMs, day).name)),
  ]);
});

test('neighbouring days of a rollup are one range; the ranges of two months are two', () => {
  const ranges = (changed: Partial<RollupFacts>) =>
    planRollups(facts(changed)).rollups.map((of) => of.ranges);
  expect(ranges({ grains: BY_DAY })).toEqual([[{ fromMs: FIRST_MS, toMs: LAST_MS + DAY }]]);
  expect(ranges({ grains: HOURS })).toHaveLength(2);
  expect(ranges({ grains: BY_DAY, entries: [archived(DAYS[0]), archived(DAYS[2])] })).toEqual([
    [
      { fromMs: FIRST_MS, toMs: FIRST_MS + DAY },
      { fromMs: LAST_MS, toMs: LAST_MS + DAY },
    ],
  ]);
});
