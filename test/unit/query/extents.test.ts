import fc from 'fast-check';
import { mergeExtents } from '../../../shared/query/extents';

const span = (firstMs: number, lastMs: number) => ({ firstMs, lastMs });

test.each([
  { name: 'none', places: [], most: 4, spans: [] },
  {
    name: 'windows beside each other are one',
    places: [span(0, 59), span(60, 119)],
    most: 4,
    spans: [span(0, 119)],
  },
  {
    name: 'a gap stays',
    places: [span(500, 900), span(0, 100)],
    most: 4,
    spans: [span(0, 100), span(500, 900)],
  },
  { name: 'one within another', places: [span(0, 900), span(100, 200)], most: 4, spans: [span(0, 900)] },
  {
    name: 'the smallest gap is closed when there are too many',
    places: [span(0, 100), span(150, 300), span(500, 600)],
    most: 2,
    spans: [span(0, 300), span(500, 600)],
  },
])('$name', ({ places, most, spans }) => {
  expect(mergeExtents(places, 1000, most)).toEqual(spans);
});

test('spans cover every place, do not touch, and are few', () => {
  const place = fc.tuple(fc.nat(10_000), fc.nat(500)).map(([first, length]) => span(first, first + length));
  fc.assert(
    fc.property(fc.array(place, { maxLength: 200 }), fc.integer({ min: 1, max: 30 }), (places, most) => {
      const spans = mergeExtents(places, 10_500, most);
      expect(spans.length).toBeLessThanOrEqual(most);
      for (const { firstMs, lastMs } of places)
        expect(spans.some((each) => each.firstMs <= firstMs && each.lastMs >= lastMs)).toBe(true);
      for (const [i, { firstMs }] of spans.slice(1).entries())
        expect(firstMs).toBeGreaterThan(spans[i]!.lastMs);
    }),
  );
});
