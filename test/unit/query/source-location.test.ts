import fc from 'fast-check';
import type { SourceCatalogue } from '../../../shared/catalogue/catalogue';
import type { LayoutMatch } from '../../../shared/catalogue/shape-columns';
import { labelsKey, metricOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import {
  groupIdOf,
  sourceIdOf,
  sourceIdOfGroup,
  splitBitsOfGroup,
  splitIndexOf,
  tenantIdOf,
} from '../../../shared/model/placement';
import {
  joinLocations,
  locationIn,
  locationOf,
  type SourceLocation,
} from '../../../shared/query/source-location';

const HOST = sourceOf.host('a');
const [SOURCE, POOL] = ['a', 'pool'].map((name) => sourceIdOf(tenantIdOf('t'), sourceOf.host(name))) as [
  string,
  string,
];
const seriesOf = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => metricOf(HOST, `metric${from + i}`));
const LAYOUTS = [seriesOf(0, 2), seriesOf(1, 2), seriesOf(5, 1)].map((series) => layoutOf(series));
const FIRST_MS = Float64Array.of(7_000, 3_000, 5_000);

const match = fc
  .record({
    home: fc.constantFrom(SOURCE, POOL),
    split: fc.nat({ max: 1 }),
    number: fc.nat({ max: LAYOUTS.length - 1 }),
    windowMs: fc.constantFrom(3_600_000, 14_400_000),
  })
  .map(({ home, split, number, windowMs }) => {
    const layout = LAYOUTS[number]!;
    const group = groupIdOf(home, 1, split);
    return { group, layoutId: layout.id, layout: () => layout, pick: { number }, windowMs, number };
  });
const matches = fc.array(match, { minLength: 1, maxLength: 8 });
type Matches = readonly LayoutMatch[];

/** A location in one order, without picks, which only save work. */
const comparable = ({ homes, ...rest }: SourceLocation) => ({
  ...rest,
  homes: homes
    .map(({ id, groups, layouts }) => ({
      id,
      groups: [...groups].sort(),
      layouts: [...layouts.keys()].sort(),
    }))
    .sort((a, b) => (a.id < b.id ? -1 : 1)),
});

describe('the location of series found in the index', () => {
  test('includes the group, the layout, the window length and the first sample of every match', () => {
    void fc.assert(
      fc.property(matches, (all) => {
        const { homes, windowLengthsMs, firstMs } = locationOf(all as unknown as Matches, FIRST_MS);
        expect(new Set(homes.map(({ id }) => id)).size).toBe(homes.length);
        for (const { group, layoutId, windowMs, number } of all) {
          const home = homes.find(({ id }) => id === sourceIdOfGroup(group))!;
          expect(home.groups).toContain(group);
          expect(home.layouts.get(layoutId)?.id).toBe(layoutId);
          expect(windowLengthsMs).toContain(windowMs);
          expect(firstMs).toBeLessThanOrEqual(FIRST_MS[number]!);
        }
      }),
    );
  });

  test('is the same whether the series are found together, or one by one and joined', () => {
    void fc.assert(
      fc.property(matches, (all) => {
        const together = locationOf(all as unknown as Matches, FIRST_MS);
        const each = all.map((one) => locationOf([one] as unknown as Matches, FIRST_MS));
        expect(comparable(joinLocations(each))).toEqual(comparable(together));
      }),
    );
  });
});

test('the location of a source in the catalogue includes, of each home, the groups of every split that it had', () => {
  const wanted = layoutOf(seriesOf(0, 40));
  const known: SourceCatalogue = {
    layouts: new Map([[groupIdOf(POOL, 0, 0), LAYOUTS]]),
    splits: new Map([
      [SOURCE, [0, 3]],
      [POOL, [1]],
    ]),
    windowLengthsMs: [3_600_000],
    firstMs: 1,
    deletions: [],
  };
  const { homes } = locationIn(known, SOURCE, wanted);
  expect(homes.map(({ id, groups }) => [id, [...new Set(groups.map(splitBitsOfGroup))]])).toEqual([
    [SOURCE, [0, 3]],
    [POOL, [1]],
  ]);
  for (const { id, groups, layouts } of homes) {
    for (const series of wanted.series)
      for (const bits of known.splits.get(id)!)
        expect(groups).toContain(groupIdOf(id, bits, splitIndexOf(labelsKey(series), bits)));
    expect([...layouts.keys()]).toEqual(LAYOUTS.map((layout) => layout.id));
  }
  // A source without an entry for its splits has its own id as its only home, and no group.
  expect(locationIn({ ...known, splits: new Map() }, SOURCE, wanted).homes).toMatchObject([
    { id: SOURCE, groups: [] },
  ]);
});
