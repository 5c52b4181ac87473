import fc from 'fast-check';
import type { QuietPeriod } from '../../../../shared/alerting/tasks/due-ticks';
import { ingestQuiet, quietOf } from '../../../../shared/alerting/tasks/ingest-quiet';
import type { Id } from '../../../../shared/model/id';

const MINUTE_MS = 60_000;
/** Number of tenants that post in each minute. `now` is minute 100, and the last count is that of minute 99. */
const minutes = (...counts: readonly number[]) =>
  new Map(counts.map((count, i) => [100 - counts.length + i, count]));
const usual = (count: number) => Array<number>(20).fill(count);
const at = (samples: ReadonlyMap<number, number>, last?: QuietPeriod) =>
  ingestQuiet(samples, 100 * MINUTE_MS + 5_000, last);

test.each([
  { name: 'steady ingest is not quiet', counts: [...usual(1_000), 1_000, 1_000] },
  { name: 'less than usual is not quiet', counts: [...usual(1_000), 300, 100] },
  { name: 'one minute without a post is jitter', counts: [...usual(1_000), 1_000, 0] },
  { name: 'a new stage is not quiet', counts: [1_000, 1_000, 0, 0] },
  {
    name: 'a tenant that posts every five minutes is not quiet',
    counts: Array.from({ length: 22 }, (_, i) => (i % 5 === 0 ? 10 : 0)),
  },
  { name: 'a stage without posts is not quiet', counts: [] },
  { name: 'a single tenant that stops may be a single host that died', counts: [...usual(1), 0, 0] },
])('$name', ({ counts }) => {
  expect(at(minutes(...counts))).toBeUndefined();
});

test('two minutes with less than a tenth of the usual tenants begin a quiet period', () => {
  const counts = minutes(...usual(1_000), 0, 99);
  expect(at(counts)).toEqual({ fromMs: 98 * MINUTE_MS, usual: 1_000 });
});

test('a period lasts while nobody posts, and ends with a minute in which enough tenants post', () => {
  const open: QuietPeriod = { fromMs: 10 * MINUTE_MS, usual: 1_000 };
  expect(at(minutes(0, 0, 99), open)).toBe(open);
  expect(at(minutes(0, 0, 100), open)).toEqual({ ...open, toMs: 100 * MINUTE_MS });
});

test('a lower number that lasts becomes the usual one, so rules are not suspended for ever', () => {
  const open: QuietPeriod = { fromMs: 78 * MINUTE_MS, usual: 100_000 };
  const ended = { ...open, toMs: 100 * MINUTE_MS };
  expect(at(minutes(...usual(1_000), 1_000, 1_000), open)).toEqual(ended);
  expect(at(minutes(...usual(1_000), 1_000, 99), open)).toBe(open);
  expect(at(minutes(...usual(0), 0, 1_000), open)).toBe(open);
  const younger = { ...open, fromMs: 79 * MINUTE_MS };
  expect(at(minutes(...usual(1_000), 1_000, 1_000), younger)).toBe(younger);
});

test('a new quiet period can follow one that has ended', () => {
  const ended: QuietPeriod = { fromMs: 10 * MINUTE_MS, toMs: 20 * MINUTE_MS, usual: 5 };
  expect(at(minutes(...usual(1_000), 0, 0), ended)).toEqual({ fromMs: 98 * MINUTE_MS, usual: 1_000 });
  expect(at(minutes(...usual(1_000), 1_000, 0), ended)).toBe(ended);
});

describe('the tenants of a stage', () => {
  /** Samples that the canary and each tenant post in a minute: first for 20 minutes, then for the last two. */
  const quietAfter = (canary: number, ...tenants: readonly (readonly [before: number, after: number])[]) =>
    quietOf(
      {
        usesBetween: async (tenant) => {
          const [before, after] = tenant === 'canary' ? [1, canary] : tenants[Number(tenant)]!;
          return minutes(...usual(before), after, after);
        },
      },
      { quiet: async () => undefined, putQuiet: async () => {} },
      { tenants: tenants.map((_, i) => String(i) as Id), canary: 'canary' as Id },
      100 * MINUTE_MS + 5_000,
    );

  test.each([
    { name: 'the only tenant stops, and so does the canary', canary: 0, tenants: [[500, 0]], isQuiet: true },
    { name: 'the only host of the only tenant dies', canary: 1, tenants: [[500, 0]], isQuiet: false },
    { name: 'eight of ten hosts of the only tenant die', canary: 0, tenants: [[500, 100]], isQuiet: false },
    {
      name: 'an outage lets few posts through',
      canary: 0,
      tenants: [
        [500, 25],
        [900, 40],
      ],
      isQuiet: true,
    },
    {
      name: 'an outage lets only the canary through, and ten tenants post usually',
      canary: 1,
      tenants: Array.from({ length: 10 }, (): [number, number] => [500, 0]),
      isQuiet: true,
    },
    {
      name: 'one of two tenants stops',
      canary: 0,
      tenants: [
        [500, 0],
        [500, 500],
      ],
      isQuiet: false,
    },
    {
      name: 'the one that posts nearly everything stops',
      canary: 0,
      tenants: [
        [1e6, 0],
        [500, 500],
      ],
      isQuiet: false,
    },
    {
      name: 'all stop',
      canary: 0,
      tenants: [
        [1e6, 0],
        [500, 0],
      ],
      isQuiet: true,
    },
  ] as const)('$name', async ({ canary, tenants, isQuiet }) => {
    expect((await quietAfter(canary, ...tenants)) !== undefined).toBe(isQuiet);
  });

  test('a host that posts nearly everything never rests the rules when it dies, whatever the others do', () => {
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 1_000 }), { maxLength: 30 }),
        fc.integer({ min: 1, max: 1e6 }),
        async (others, samples) => {
          const alive = others.map((count): [number, number] => [count, count]);
          expect(await quietAfter(1, [samples, 0], ...alive)).toBeUndefined();
        },
      ),
    );
  });
});
