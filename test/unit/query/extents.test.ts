import fc from 'fast-check';
import { mergeExtents } from '../../../shared/query/extents';

const span = (firstMs: number, lastMs: number) => ({ firstMs, lastMs });
const MOST = 24;
/** As many spans as a response may have. */
const SEPARATE = Array.from({ length: MOST }, (_, i) => span(40 * i, 40 * i + 10));

test.each([
  { name: 'none', places: [], spans: [] },
  {
    name: 'windows beside each other are one',
    places: [span(0, 59), span(60, 119)],
    spans: [span(0, 119)],
  },
  {
    name: 'a gap stays',
    places: [span(500, 900), span(0, 100)],
    spans: [span(0, 100), span(500, 900)],
  },
  { name: 'one within another', places: [span(0, 900), span(100, 200)], spans: [span(0, 900)] },
  {
    name: 'the smallest gap is closed when there are too many',
    places: [span(-20, -10), ...SEPARATE],
    spans: [span(-20, 10), ...SEPARATE.slice(1)],
  },
])('$name', ({ places, spans }) => {
  expect(mergeExtents(places, 1000)).toEqual(spans);
});

test('spans cover every place, do not touch, and are few', () => {
  const place = fc.tuple(fc.nat(10_000), fc.nat(500)).map(([first, length]) => span(first, first + length));
  fc.assert(
    fc.property(fc.array(place, { maxLength: 200 }), (places) => {
      const spans = mergeExtents(places, 10_500);
      expect(spans.length).toBeLessThanOrEqual(MOST);
      for (const { firstMs, lastMs } of places)
        expect(spans.some((each) => each.firstMs <= firstMs && each.lastMs >= lastMs)).toBe(true);
      for (const [i, { firstMs }] of spans.slice(1).entries())
        expect(firstMs).toBeGreaterThan(spans[i]!.lastMs);
    }),
  );
});
