import { identityBytes } from '../../../shared/cold/rollup-span';
import {
  breaksSeal,
  decodeSeal,
  type MonthSeal,
  planSeals,
  sealOf,
  sealSortOf,
} from '../../../shared/cold/seal';

const DAY = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 6, 12);
const STATE = identityBytes('"an etag"');
/** Closed, open, closed; the manifest lacks the other days. */
const STATES = new Map([
  ['2026-10-30', STATE],
  ['2026-10-31', undefined],
  ['2026-11-01', STATE],
]);

const sealed = (month: string, bytes: Buffer, broken: readonly string[] = [], revision = 7): MonthSeal =>
  decodeSeal({
    sk: { S: sealSortOf(month) },
    sealed: { B: bytes },
    revision: { N: String(revision) },
    ...(broken.length > 0 && { broken: { SS: [...broken] } }),
  });

const plan = (seals: readonly MonthSeal[] = [], states: ReadonlyMap<string, Buffer | undefined> = STATES) =>
  planSeals(seals, states, NOW_MS);

test('a month without seals gets them, of the days that are archived, closed and old enough', () => {
  const [october, november] = plan();
  expect([october, november]).toMatchObject([
    { month: '2026-10', revision: undefined },
    { month: '2026-11', revision: undefined },
  ]);
  const said = new Map(
    [october, november].flatMap((each) => {
      const seal = sealed(each!.month, each!.bytes!);
      return [28, 29, 30, 31, 1, 2, 3, 4].map((date) => {
        const day = `${each!.month}-${String(date).padStart(2, '0')}`;
        return [day, sealOf(seal, day)] as const;
      });
    }),
  );
  expect([...said].filter(([, seal]) => seal !== undefined)).toEqual([
    ['2026-10-28', 'lacking'],
    ['2026-10-29', 'lacking'],
    ['2026-10-30', { day: '2026-10-30', state: STATE }],
    ['2026-10-01', 'lacking'],
    ['2026-10-02', 'lacking'],
    ['2026-10-03', 'lacking'],
    ['2026-10-04', 'lacking'],
    ['2026-11-01', { day: '2026-11-01', state: STATE }],
    ['2026-11-02', 'lacking'],
  ]);
});

const [OCTOBER, NOVEMBER] = plan().map(({ month, bytes }) => ({ month, bytes })) as [
  { month: string; bytes: Buffer },
  { month: string; bytes: Buffer },
];

test.each<{ name: string; seals: readonly MonthSeal[]; states?: typeof STATES; months: readonly string[] }>([
  {
    name: 'nothing where every day is as it was sealed',
    seals: [sealed(OCTOBER.month, OCTOBER.bytes), sealed(NOVEMBER.month, NOVEMBER.bytes)],
    months: [],
  },
  {
    name: 'a month in which a seal was broken',
    seals: [sealed(OCTOBER.month, OCTOBER.bytes, ['2026-10-30']), sealed(NOVEMBER.month, NOVEMBER.bytes)],
    months: ['2026-10'],
  },
  {
    name: 'a month in which a day was archived again',
    seals: [sealed(OCTOBER.month, OCTOBER.bytes), sealed(NOVEMBER.month, NOVEMBER.bytes)],
    states: new Map([...STATES, ['2026-11-01', identityBytes('"another"')]]),
    months: ['2026-11'],
  },
  { name: 'nothing of a partition without data', seals: [], states: new Map(), months: [] },
])('seals are made of $name', ({ seals, states, months }) => {
  const plans = plan(seals, states);
  expect(plans.map(({ month }) => month)).toEqual(months);
  for (const { revision } of plans) expect(revision).toBe(7);
});

test('months before the first day that is left, and all when none is, are withdrawn as they were read', () => {
  const [september, october] = [
    sealed('2026-09', OCTOBER.bytes, [], 3),
    sealed(OCTOBER.month, OCTOBER.bytes),
  ];
  const november = new Map([['2026-11-01', STATE]]);
  const withdrawn = [
    { month: '2026-09', revision: 3, bytes: undefined },
    { month: '2026-10', revision: 7, bytes: undefined },
  ];
  expect(plan([september, october, sealed(NOVEMBER.month, NOVEMBER.bytes)], november)).toEqual(withdrawn);
  expect(plan([september, october], new Map())).toEqual(withdrawn);
  const gone = decodeSeal({ sk: { S: sealSortOf('2026-09') }, revision: { N: '4' } });
  expect(plan([gone], new Map())).toEqual([]);
});

test('days before the first day that is left are sealed as lacking in its month', () => {
  const before = sealed(OCTOBER.month, OCTOBER.bytes);
  expect(sealOf(before, '2026-10-30')).toEqual({ day: '2026-10-30', state: STATE });
  const [october] = plan([before], new Map([['2026-10-31', STATE]]));
  expect(october).toMatchObject({ month: '2026-10', revision: 7 });
  expect(sealOf(sealed('2026-10', october!.bytes!), '2026-10-30')).toBe('lacking');
});

test('a broken seal says nothing', () => {
  const seal = sealed(OCTOBER.month, OCTOBER.bytes, ['2026-10-30']);
  expect(sealOf(seal, '2026-10-30')).toBeUndefined();
  expect(sealOf(seal, '2026-10-29')).toBe('lacking');
});

test('an item that only an announcement made says nothing', () => {
  const seal = decodeSeal({
    sk: { S: sealSortOf('2026-10') },
    revision: { N: '1' },
    broken: { SS: ['2026-10-30'] },
  });
  expect(seal).toMatchObject({ month: '2026-10', revision: 1, bytes: undefined });
  expect(sealOf(seal, '2026-10-29')).toBeUndefined();
});

test('an announcement breaks seals two days before a day can have one, so that clocks may differ', () => {
  const ages = [0, 1, 2, 3, 4, 5];
  const dayOfAge = (age: number) => new Date(NOW_MS - age * DAY).toISOString().slice(0, 10);
  expect(ages.filter((age) => breaksSeal(dayOfAge(age), NOW_MS))).toEqual([2, 3, 4, 5]);
  const seals = planSeals(
    [],
    new Map([['2026-11-01', undefined], ...ages.map((age) => [dayOfAge(age), STATE] as const)]),
    NOW_MS,
  );
  const seal = sealed(seals[0]!.month, seals[0]!.bytes!);
  expect(ages.filter((age) => sealOf(seal, dayOfAge(age)) !== undefined)).toEqual([4, 5]);
});

test('golden: the sort key and bytes of October', () => {
  expect(sealSortOf('2026-10')).toBe('sealed#797302');
  expect(sealSortOf('2025-12') > sealSortOf('2026-01')).toBe(true);
  const none = '0000000000000000';
  const lacks = 'ffffffffffffffff';
  expect(OCTOBER.bytes.toString('hex')).toBe(lacks.repeat(29) + STATE.toString('hex') + none);
});
