import type { ListedSource } from '../../../shared/cold/archive-directory';
import type { ManifestDay } from '../../../shared/cold/manifest';
import type { RolledSource } from '../../../shared/cold/rollup-directory';
import { SpanDays, spanOf } from '../../../shared/cold/rollup-span';
import { DAY_MS } from '../../../shared/model/duration';
import type { Day } from '../../../shared/model/placement';
import { planDays } from '../../../shared/query/plan';
import { runRounds } from '../../../shared/query/read-rounds';
import {
  daysBeyondHot,
  planRounds,
  type Requests,
  type Responses,
  type Round,
  type RoundFacts,
} from '../../../shared/query/round-plan';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 10);
const ref = { tenantId: 'tenant', partition: 0 };
const partitionOn = () => ref;

describe('the days that may be beyond memory', () => {
  const days = planDays({ fromMs: START + 22 * HOUR, toMs: START + 26 * HOUR }, [HOUR], partitionOn);
  test.each([
    { left: 'nothing', beforeMs: 0, starts: [], expected: [] },
    { left: 'an earlier window', beforeMs: 0, starts: [START + 21 * HOUR], expected: [] },
    { left: 'the first window', beforeMs: 0, starts: [START + 22 * HOUR], expected: ['2026-01-10'] },
    { left: 'the last window', beforeMs: 0, starts: [START + 25 * HOUR], expected: ['2026-01-11'] },
    { left: 'a later window', beforeMs: 0, starts: [START + 26 * HOUR], expected: [] },
    { left: 'all up to the range', beforeMs: START + 21 * HOUR, starts: [], expected: [] },
    {
      left: 'all up to a time in the range',
      beforeMs: START + 23 * HOUR,
      starts: [],
      expected: ['2026-01-10'],
    },
    { left: 'anything', beforeMs: Infinity, starts: [], expected: ['2026-01-10', '2026-01-11'] },
  ])('when $left has left: $expected', ({ beforeMs, starts, expected }) => {
    const found = daysBeyondHot(days, [{ ref, beforeMs, starts }]);
    expect(found.map(({ day }) => day)).toEqual(expected);
  });

  test('are the days of any group that was read, and of no other partition', () => {
    const nothing = { ref, beforeMs: 0, starts: [] };
    const all = { ref, beforeMs: Infinity, starts: [] };
    expect(daysBeyondHot(days, [nothing, all])).toEqual(days);
    expect(daysBeyondHot(days, [nothing, { ...all, ref: { ...ref, partition: 1 } }])).toEqual([]);
  });
});

const OPEN = { announcements: 2, archived: undefined };
const PART = { key: 'k', etag: 'e', bytes: 1, samples: 1, firstGroup: '' };
const IDENTITY = '0123456789abcdef';
const ARCHIVED = {
  announcements: 1,
  archived: { identity: IDENTITY, announcements: 1, parts: [PART], atMs: 0 },
};
const REOPENED = { ...ARCHIVED, announcements: 2 };
const DAY_10 = '2026-01-10';
const short = (day: Day) => Number(day.slice(-2));
const texts = (days: readonly { readonly day: Day }[]) => [...new Set(days.map(({ day }) => short(day)))];

/** The data of a source in the stores, keyed by the day of the month. */
interface World {
  readonly states: Readonly<Record<number, object>>;
  /** Days whose rollups were made from their archived state. */
  readonly rolledUp?: readonly number[];
  /** Days whose rollups have no exact points. */
  readonly unproven?: readonly number[];
}

/** Facts of a read of `count` days from January 10 on. Up to three days count as recent, more as past. */
function factsOf(count: number, changed: Partial<RoundFacts> = {}): RoundFacts {
  const range = { fromMs: START, toMs: START + count * DAY_MS };
  return {
    days: planDays(range, [HOUR], partitionOn),
    archivedUntilMs: START + (count > 3 ? 28 : 0.5) * DAY_MS,
    grains: undefined,
    hotTimes: [],
    hasRead: () => false,
    range,
    groups: ['g'],
    deletions: [],
    tombstones: [],
    ...changed,
  };
}

function rolledUpBy(grainMs: number): Pick<RoundFacts, 'grains'> {
  return { grains: { grainMs, edges: 'steps' } };
}

function textsOf({ manifest, warm, directory, rollupDirectory, rollups, samples }: Requests): string[] {
  return [
    ...(manifest?.length ? [`manifest ${texts(manifest)}`] : []),
    ...(warm?.days.length ? [`${warm.manifest ? 'changed ' : ''}warm ${texts(warm.days)}`] : []),
    ...(directory ? ['directory'] : []),
    ...(rollupDirectory ? ['rollup directory'] : []),
    ...(rollups?.length ? [`rollups of ${rollups.reduce((sum, { days }) => sum + days, 0)} days`] : []),
    ...(samples ? [`samples ${texts(samples.days)}`] : []),
  ];
}

function respond({ states, rolledUp = [], unproven = [] }: World, requests: Requests): Partial<Responses> {
  const span = spanOf(HOUR, DAY_10);
  const days = new SpanDays(span);
  for (const day of rolledUp) days.set(`2026-01-${day}`, IDENTITY);
  const source: RolledSource = {
    span,
    key: 'r',
    etag: 'r',
    days,
    deletions: '',
    excluded: [],
    groups: [],
  };
  const manifest = (requests.manifest ?? []).flatMap(({ day }) =>
    states[short(day)] === undefined ? [] : [[day, { day, ...states[short(day)] } as ManifestDay] as const],
  );
  return {
    ...(requests.manifest && { manifest: new Map(manifest) }),
    ...(requests.directory && { directory: new Map<Day, ListedSource>() }),
    ...(requests.rollupDirectory && { rolledUp: new Map([[span.name, source]]) }),
    ...(requests.rollups && {
      points: {
        series: [],
        places: [],
        days: 0,
        unproven: new Set(unproven.map((day) => START + (day - 10) * DAY_MS)),
      },
    }),
  };
}

describe('the rounds of a read beyond memory', () => {
  function roundsOf(first: Round, world: World): string[][] {
    const rounds: string[][] = [];
    let known: Partial<Responses> = {};
    for (let round: Round | undefined = first; round !== undefined; ) {
      rounds.push(textsOf(round.requests));
      known = { ...known, ...respond(world, round.requests) };
      round = round.next?.({ manifest: new Map(), ...known });
    }
    return rounds;
  }

  const MIXED = { states: { 10: ARCHIVED, 11: REOPENED, 13: OPEN } };
  const ALL_ARCHIVED = { 10: ARCHIVED, 11: ARCHIVED, 12: ARCHIVED, 13: ARCHIVED };

  test.each<{
    name: string;
    facts: RoundFacts;
    world: World;
    rounds: readonly (readonly string[])[];
  }>([
    {
      name: 'a day that is not archived: manifest and warm together',
      facts: factsOf(1),
      world: { states: { 10: OPEN } },
      rounds: [['manifest 10', 'warm 10']],
    },
    {
      name: 'an archived day: the directory after both, then the object',
      facts: factsOf(1),
      world: { states: { 10: ARCHIVED } },
      rounds: [['manifest 10', 'warm 10'], ['directory'], ['samples 10']],
    },
    {
      name: 'days that the reader has seen in the warm table: the table for what has changed',
      facts: factsOf(2, { hasRead: ({ day }) => day === DAY_10 }),
      world: { states: { 10: OPEN, 11: ARCHIVED } },
      rounds: [['manifest 10,11', 'warm 11'], ['changed warm 10', 'directory'], ['samples 11']],
    },
    {
      name: 'many days: the manifest and the directory, then the warm table for open ones alone',
      facts: factsOf(4),
      world: MIXED,
      rounds: [
        ['manifest 10,11,12,13', 'directory'],
        ['changed warm 11,13', 'samples 10,11'],
      ],
    },
    {
      name: 'a day that is probably not archived yet: the warm table at once',
      facts: factsOf(1, { archivedUntilMs: START + DAY_MS - 1 }),
      world: { states: { 10: OPEN } },
      rounds: [['manifest 10', 'warm 10']],
    },
    {
      name: 'a day that may be archived by now: the directory at once, and the warm table if the day is open',
      facts: factsOf(1, { archivedUntilMs: START + DAY_MS }),
      world: { states: { 10: OPEN } },
      rounds: [['manifest 10', 'directory'], ['changed warm 10']],
    },
    {
      name: 'a past day by the hour: its samples, although it has rollups',
      facts: factsOf(1, { ...rolledUpBy(HOUR), archivedUntilMs: START + 28 * DAY_MS }),
      world: { states: { 10: ARCHIVED }, rolledUp: [10] },
      rounds: [['manifest 10', 'directory'], ['samples 10']],
    },
    {
      name: 'recent days by the hour: no directory of rollups',
      facts: factsOf(1, rolledUpBy(HOUR)),
      world: { states: { 10: OPEN } },
      rounds: [['manifest 10', 'warm 10']],
    },
    {
      name: 'many days in steps that are rolled up: the rollup directory, and no samples',
      facts: factsOf(4, rolledUpBy(HOUR)),
      world: { states: ALL_ARCHIVED, rolledUp: [10, 11, 12, 13] },
      rounds: [['manifest 10,11,12,13', 'rollup directory'], ['rollups of 4 days']],
    },
    {
      name: 'many days in steps of which one is not rolled up: its samples, a round later',
      facts: factsOf(4, rolledUpBy(HOUR)),
      world: { states: ALL_ARCHIVED, rolledUp: [10, 11, 12] },
      rounds: [
        ['manifest 10,11,12,13', 'rollup directory'],
        ['directory', 'rollups of 3 days'],
        ['samples 13'],
      ],
    },
    {
      name: 'many days in steps of which one has no exact points: its samples, two rounds later',
      facts: factsOf(4, rolledUpBy(HOUR)),
      world: { states: ALL_ARCHIVED, rolledUp: [10, 11, 12, 13], unproven: [12] },
      rounds: [
        ['manifest 10,11,12,13', 'rollup directory'],
        ['rollups of 4 days'],
        ['directory'],
        ['samples 12'],
      ],
    },
    {
      name: 'one day is not rolled up, and another has no exact points: the samples of both together',
      facts: factsOf(4, rolledUpBy(HOUR)),
      world: { states: ALL_ARCHIVED, rolledUp: [10, 11, 12], unproven: [10] },
      rounds: [
        ['manifest 10,11,12,13', 'rollup directory'],
        ['directory', 'rollups of 3 days'],
        ['samples 13,10'],
      ],
    },
    {
      name: 'many days in steps, one open again and one in memory: samples and warm items of these',
      facts: factsOf(4, {
        ...rolledUpBy(HOUR),
        hotTimes: [{ firstMs: START + 2 * DAY_MS, lastMs: START + 2 * DAY_MS }],
      }),
      world: { states: { ...ALL_ARCHIVED, 11: REOPENED }, rolledUp: [10, 11, 12, 13] },
      rounds: [
        ['manifest 10,11,12,13', 'rollup directory'],
        ['changed warm 11', 'directory', 'rollups of 2 days'],
        ['samples 11,12'],
      ],
    },
    {
      name: 'days without data: nothing more',
      facts: factsOf(4),
      world: { states: {} },
      rounds: [['manifest 10,11,12,13', 'directory']],
    },
  ])('$name', ({ facts, world, rounds }) => {
    expect(roundsOf(planRounds(facts), world)).toEqual(rounds);
  });

  test.each([
    { name: 'nothing else has samples of the time', changed: {}, isContested: false },
    {
      name: 'memory has samples of the time',
      changed: { hotTimes: [{ firstMs: START + 5, lastMs: START + 20 }] },
      isContested: true,
    },
    {
      name: 'memory has later samples',
      changed: { hotTimes: [{ firstMs: START + 11, lastMs: START + 20 }] },
      isContested: false,
    },
    {
      name: 'a deletion touches the time',
      changed: { tombstones: [{ fromMs: START + 10, toMs: START + 11 }] },
      isContested: true,
    },
    {
      name: 'a deletion ends where the time begins',
      changed: { tombstones: [{ fromMs: 0, toMs: START }] },
      isContested: false,
    },
    { name: 'the warm table is asked too', changed: { archivedUntilMs: START }, isContested: true },
    {
      name: 'groups of the source lie in two parts',
      changed: { groups: ['g', 'p'] },
      parts: [PART, { ...PART, firstGroup: 'n' }],
      isContested: true,
    },
    {
      name: 'other sources lie in another part',
      changed: { groups: ['o', 'p'] },
      parts: [PART, { ...PART, firstGroup: 'n' }],
      isContested: false,
    },
  ])(
    'samples of a closed day are contested when others may be of the same time: $name',
    ({ changed, parts = [PART], isContested }) => {
      const archived = { ...ARCHIVED, archived: { ...ARCHIVED.archived, parts } };
      let known: Partial<Responses> = {};
      let round = planRounds(factsOf(4, changed));
      while (round.requests.samples === undefined) {
        known = { ...known, ...respond({ states: { 10: archived } }, round.requests) };
        round = round.next!({ manifest: new Map(), ...known })!;
      }
      expect(round.requests.samples.days[0]!.isContested(START, START + 10)).toBe(isContested);
    },
  );
});

describe('a read beyond memory', () => {
  const SLOW = 15 * MINUTE;

  /** Reads one day several times; each round takes `roundMs`. */
  async function logRequests(
    states: World['states'],
    times: number,
    purgeAfterMs: number,
    roundMs = 0,
    afterRound = () => {},
  ): Promise<string[][]> {
    const log: string[][] = [];
    let nowMs = 0;
    for (let i = 0; i < times; i++)
      await runRounds(
        async (requests) => {
          log.push(textsOf(requests));
          nowMs += roundMs;
          const response = respond({ states }, requests);
          afterRound();
          return response;
        },
        { purgeAfterMs, now: () => nowMs },
        factsOf(1),
      );
    return log;
  }

  test('asks the manifest once', async () => {
    const once = [['manifest 10', 'warm 10'], ['directory'], ['samples 10']];
    expect(await logRequests({ 10: ARCHIVED }, 2, SLOW)).toEqual([...once, ...once]);
  });

  test('asks the manifest once more if purges do not wait', async () => {
    const once = [['manifest 10', 'warm 10'], ['manifest 10']];
    expect(await logRequests({ 10: OPEN }, 2, 0)).toEqual([...once, ...once]);
  });

  test('begins again if the day was archived, and perhaps purged, during the read', async () => {
    const states: Record<number, object> = { 10: OPEN };
    const archive = () => {
      states[10] = ARCHIVED;
    };
    expect(await logRequests(states, 1, 0, 0, archive)).toEqual([
      ['manifest 10', 'warm 10'],
      ['manifest 10'],
      ['manifest 10', 'warm 10'],
      ['directory'],
      ['samples 10'],
      ['manifest 10'],
    ]);
  });

  test('asks the manifest once more when a purge may have come in between', async () => {
    expect(await logRequests({ 10: OPEN }, 1, SLOW, SLOW)).toEqual([
      ['manifest 10', 'warm 10'],
      ['manifest 10'],
    ]);
  });
});
