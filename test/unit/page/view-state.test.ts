import fc from 'fast-check';
import {
  fixedRange,
  RANGES,
  refreshS,
  scaled,
  shifted,
  stepFor,
} from '../../../functions/page/browser/time-range';
import {
  decodeState,
  encodeState,
  INITIAL_STATE,
  keyInHash,
  type ViewState,
} from '../../../functions/page/browser/view-state';

const range = fc.oneof(
  fc.integer({ min: 60, max: 460 * 86_400 }).map((lastS) => ({ lastS })),
  fc
    .tuple(fc.integer({ min: 0, max: 4_000_000_000 }), fc.integer({ min: 60, max: 460 * 86_400 }))
    .map(([fromS, spanS]) => ({ fromS, toS: fromS + spanS })),
);
const text = fc.string({ minLength: 1, maxLength: 30 }).filter((value) => value.isWellFormed());
const state: fc.Arbitrary<ViewState> = fc.record({
  view: fc.constantFrom('graphs', 'status'),
  source: fc.option(fc.record({ kind: fc.constantFrom('host', 'service'), id: text }), { nil: undefined }),
  graphs: fc.option(fc.array(text, { minLength: 1, maxLength: 5 }), { nil: undefined }),
  range,
  utc: fc.boolean(),
  tiers: fc.boolean(),
});

describe('the address', () => {
  test('says all that is seen', () => {
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
      utc: true,
    };
    expect(encodeState({ ...seen, range: { lastS: 6 * 3600 } })).toBe(
      'host=2gH&graph=custom.a&last=6h&time=utc',
    );
    expect(encodeState(INITIAL_STATE)).toBe('');
  });

  test.each(['', '#', '#last=0s', '#last=9999d', '#from=5&to=1', '#from=x&to=y', '#%', '#host='])(
    'that says nothing sensible, %j, is as at first',
    (hash) => {
      expect(decodeState(hash)).toEqual(INITIAL_STATE);
    },
  );

  test('may bring a key, which is never written into one', () => {
    expect(keyInHash('#host=a&key=ht_1_2')).toBe('ht_1_2');
    expect(encodeState(decodeState('#host=a&key=ht_1_2'))).toBe('host=a');
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

  test('later than now is the present again', () => {
    expect(shifted({ fromS: now - 5000, toS: now - 1400 }, 0.5, now)).toEqual({ lastS: 3600 });
  });
});
