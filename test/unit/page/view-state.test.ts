import fc from 'fast-check';
import {
  fixedRange,
  RANGES,
  refreshS,
  scaled,
  shifted,
  stepFor,
} from '../../../functions/page/browser/view/time-range';
import {
  decodeState,
  encodeState,
  INITIAL_STATE,
  keyInHash,
  rangeProblem,
  VIEWS,
  type ViewState,
  withoutKey,
} from '../../../functions/page/browser/view/view-state';

const range = fc.oneof(
  fc.integer({ min: 60, max: 460 * 86_400 }).map((lastS) => ({ lastS })),
  fc
    .tuple(fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 60, max: 460 * 86_400 }))
    .map(([fromS, spanS]) => ({ fromS, toS: fromS + spanS })),
);
const text = fc.string({ minLength: 1, maxLength: 30 }).filter((value) => value.isWellFormed());
const state: fc.Arbitrary<ViewState> = fc.record({
  view: fc.constantFrom(...VIEWS),
  source: fc.option(fc.record({ kind: fc.constantFrom('host', 'service', 'role', 'labels'), id: text }), {
    nil: undefined,
  }),
  graphs: fc.option(fc.array(text, { minLength: 1, maxLength: 5 }), { nil: undefined }),
  find: fc.oneof(fc.constant(''), text),
  hidden: fc.array(text, { maxLength: 3 }),
  range,
  refreshS: fc.constantFrom(undefined, 0, 5, 30, 300),
  compareS: fc.constantFrom(undefined, 86_400, 604_800),
  over: fc.constantFrom('each', 'average', 'min', 'max', 'sum'),
  utc: fc.boolean(),
  tiers: fc.boolean(),
  ways: fc.dictionary(text, fc.constantFrom('stored', 'rate'), { maxKeys: 3, noNullPrototype: true }),
  queries: fc.array(text, { maxLength: 3 }),
  asTable: fc.boolean(),
  alerts: fc.option(fc.array(text, { maxLength: 3 }), { nil: undefined }),
  dashboard: fc.option(text, { nil: undefined }),
  item: fc.option(text, { nil: undefined }),
  filters: fc.dictionary(fc.constantFrom('host.text', 'monitor.type'), text, { noNullPrototype: true }),
  variables: fc.dictionary(
    fc.stringMatching(/^[a-z_]{1,8}$/),
    fc.array(text, { minLength: 1, maxLength: 3 }),
    { noNullPrototype: true },
  ),
});

describe('the address', () => {
  test('keeps the whole view state', () => {
    fc.assert(
      fc.property(state, (seen) => {
        expect(decodeState(`#${encodeState(seen)}`)).toEqual(seen);
      }),
    );
  });

  test('is readable', () => {
    const seen = {
      ...INITIAL_STATE,
      source: { kind: 'host', id: '2gH' } as const,
      graphs: ['custom.a'],
      hidden: ['custom.a.b'],
      utc: true,
    };
    expect(encodeState({ ...seen, range: { lastS: 6 * 3600 } })).toBe(
      'host=2gH&graph=custom.a&hide=custom.a.b&last=6h&time=utc',
    );
    expect(encodeState(INITIAL_STATE)).toBe('');
  });

  test.each(['', '#', '#last=0s', '#last=9999d', '#from=5&to=1', '#from=x&to=y', '#%', '#host='])(
    'without anything possible in it, %j, is the initial state',
    (hash) => {
      expect(decodeState(hash)).toEqual(INITIAL_STATE);
    },
  );

  test('may bring a key; none is ever written into it', () => {
    expect(keyInHash('#host=a&key=ht_1_2')).toBe('ht_1_2');
    expect(encodeState(decodeState('#host=a&key=ht_1_2'))).toBe('host=a');
    expect(withoutKey('#host=a&last=9999d&key=ht_1_2&unknown=%2f')).toBe('host=a&last=9999d&unknown=%2f');
  });
});

describe('an impossible range in a link', () => {
  test.each([
    { hash: '#last=9999d', says: 'last=9999d' },
    { hash: '#last=0s', says: 'last=0s' },
    { hash: '#last=soon', says: 'last=soon' },
    { hash: '#from=5&to=1', says: 'from=5 to=1' },
    { hash: '#host=a&from=100', says: 'from=100' },
  ])('$hash is reported, with what is allowed', ({ hash, says }) => {
    expect(rangeProblem(hash)).toContain(`an impossible time range: ${says}. A range is 1 min to 460 d long`);
  });

  test.each(['', '#last=6h', '#from=0&to=3600', '#host=a'])('is not reported for %j', (hash) => {
    expect(rangeProblem(hash)).toBeUndefined();
  });
});

describe('time ranges', () => {
  const now = 1_795_212_000;

  test('stay within 1 minute and 460 days, and end by now, however they are moved', () => {
    const move = fc.oneof(
      fc
        .constantFrom(0.25, 0.5, 2, 8)
        .map((factor) => (from: ViewState['range']) => scaled(from, factor, now)),
      fc.constantFrom(-0.5, 0.5, 3).map((by) => (from: ViewState['range']) => shifted(from, by, now)),
      fc.tuple(fc.nat(now), fc.nat(now)).map(
        ([a, b]) =>
          () =>
            fixedRange(Math.min(a, b), Math.max(a, b), now),
      ),
    );
    fc.assert(
      fc.property(range, fc.array(move, { minLength: 1 }), (first, moves) => {
        const last = moves.reduce((from, apply) => apply(from), first as ViewState['range']);
        const spanS = 'lastS' in last ? last.lastS : last.toS - last.fromS;
        expect(spanS).toBeGreaterThanOrEqual(60);
        expect(spanS).toBeLessThanOrEqual(460 * 86_400);
        expect(decodeState(encodeState({ ...INITIAL_STATE, range: last })).range).toEqual(last);
      }),
    );
  });

  test.each(RANGES)('$label asks for at most 800 steps', ({ lastS }) => {
    const step = stepFor({ fromS: now - lastS, toS: now });
    expect(lastS / (step ?? 10)).toBeLessThanOrEqual(800);
    expect(refreshS(lastS)).toBeGreaterThanOrEqual(5);
    expect(refreshS(lastS)).toBeLessThanOrEqual(300);
  });

  test('that reach the present follow it', () => {
    expect(shifted({ fromS: now - 5000, toS: now - 1400 }, 0.5, now)).toEqual({ lastS: 3600 });
  });
});
