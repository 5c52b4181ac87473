import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type ByteRange, CorruptArchiveError } from '../../../shared/cold/archive-format';
import {
  EXTRA_VALUES,
  eachValue,
  joinRolled,
  NO_GRAINS,
  ROLLED_COLUMNS,
  ROLLED_VALUES,
  type RolledGroup,
  type RolledSeries,
  sliceRolled,
  storedExtras,
  UNSTORED,
} from '../../../shared/cold/rollup-grains';
import { RollupObject, readRollup } from '../../../shared/cold/rollup-object';
import { RollupWriter } from '../../../shared/cold/rollup-writer';
import { labelsKey, metricOf, sourceOf } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { hexOf } from '../codec/arbitraries';

const HOUR = 3_600_000;
const layout = layoutOf(['cpu', 'load', 'up'].map((name) => metricOf(sourceOf.host('h'), name)));

/**
 * Rolled-up hours of a series: each hour's number since 1970, its count, and a value near all of its
 * aggregates. The times of its samples follow from the count; extra values are stored where it is odd.
 */
function rolled(...hours: readonly (readonly [hour: number, count: number, value: number])[]): RolledSeries {
  const ofCounts = (of: (count: number) => number) => Float64Array.from(hours, ([, count]) => of(count));
  return {
    starts: Float64Array.from(hours, ([hour]) => hour * HOUR),
    counts: ofCounts((count) => count),
    firsts: ofCounts((count) => (count * 7) % 1000),
    lasts: ofCounts((count) => HOUR - count),
    restFirsts: ofCounts((count) => count % 3),
    inexact: ofCounts((count) => count % 2),
    values: eachValue((name) =>
      Float64Array.from(hours, ([, , value]) => value + ROLLED_VALUES.indexOf(name)),
    ),
    extras: storedExtras((name) =>
      Float64Array.from(hours, ([, count, value]) =>
        count % 2 === 1 ? value - EXTRA_VALUES.indexOf(name) : UNSTORED[name],
      ),
    ),
  };
}

const EXAMPLE: Readonly<Record<string, RolledGroup>> = {
  g1: {
    layout,
    series: [
      rolled([-2, 60, 0.1], [-1, 60, -0], [5, 59, Number.NaN]),
      NO_GRAINS,
      rolled([5, 1, Infinity], [6, 60, 1e300]),
    ],
  },
  g2: { layout, series: [rolled([7, 60, 3]), rolled([7, 60, 4]), rolled([7, 60, 5], [700, 1, 6])] },
};

const MADE_OF = { days: Buffer.alloc(8, 7), deletions: 'd' };

function write(groups: Readonly<Record<string, RolledGroup>>) {
  const writer = new RollupWriter(HOUR);
  for (const [group, one] of Object.entries(groups)) writer.addGroup(group, { ...one, ...MADE_OF });
  return writer.finish();
}

function bitsOf({ layout: { id }, series }: RolledGroup) {
  return {
    id,
    series: series.map(({ values, extras, ...times }) => ({
      ...times,
      values: eachValue((name) => hexOf(values[name])),
      extras: Object.entries(extras).map(([name, column]) => [name, hexOf(column)]),
    })),
  };
}

describe('a rollup object', () => {
  const hours = fc
    .uniqueArray(
      fc.tuple(fc.integer({ min: -900, max: 900 }), fc.integer({ min: 1, max: 4000 }), fc.double()),
      {
        selector: ([hour]) => hour,
        maxLength: 8,
      },
    )
    .map((grains) => rolled(...grains.sort(([a], [b]) => a - b)));
  const groups = fc
    .array(
      // Every group needs at least one grain.
      fc.tuple(hours, hours, hours).filter((series) => series.some(({ starts }) => starts.length > 0)),
      { minLength: 1, maxLength: 4 },
    )
    .map((all) => Object.fromEntries(all.map((series, i) => [`g${i}`, { layout, series }])));

  test('has every bit of its groups', async () => {
    await fc.assert(
      fc.asyncProperty(groups, async (all) => {
        const object = new RollupObject(write(all).bytes);
        expect(object.groupIds).toEqual(Object.keys(all));
        for (const [group, one] of Object.entries(all))
          expect(bitsOf((await object.group(group))!)).toEqual(bitsOf(one));
      }),
    );
  });

  test('gives a column of series in one range, once, and times by its directory alone', async () => {
    let objects = 0;
    await fc.assert(
      fc.asyncProperty(
        groups,
        fc.constantFrom(undefined, ...ROLLED_COLUMNS),
        fc.subarray([...layout.series]),
        async (all, column, wanted) => {
          const requested = column === undefined ? [] : [column];
          const { bytes, listed } = write(all);
          const name = `object ${objects++}`;
          let requests = 0;
          const slice = async ({ offset, length }: ByteRange) => {
            requests++;
            return bytes.subarray(offset, offset + length);
          };
          const positions = new Map(wanted.map((labels, i) => [labelsKey(labels), i]));
          for (const each of listed) {
            requests = 0;
            const known = new Map([[layout.id, layout]]);
            const ask = () => readRollup({ name, slice }, each, known, positions, () => requested);
            const read = await ask();
            const stored = [...read.values()].some(({ columns }) => Object.keys(columns).length > 0);
            expect(requests).toBe(stored ? 1 : 0);
            requests = 0;
            expect(await ask()).toEqual(read);
            expect(requests).toBe(0);
            for (const [i, labels] of wanted.entries()) {
              const { values, extras, ...times } =
                all[each.group]!.series[layout.columns.get(labelsKey(labels))!]!;
              const of = column === undefined ? undefined : { ...values, ...extras }[column];
              const columns = of === undefined ? {} : { [column!]: of };
              expect(read.get(i)).toEqual(times.starts.length === 0 ? undefined : { times, columns });
            }
          }
        },
      ),
    );
  });

  test('has no times of samples when they would take more than its directory may, and is inexact then', async () => {
    const series = Array.from({ length: 3 }, (_, n) =>
      rolled(...Array.from({ length: 9_000 }, (_, i) => [i, 2 + 2 * ((i * (n + 3)) % 50), 1] as const)),
    );
    const { bytes, listed } = write({ g: { layout, series } });
    expect(listed[0]!.directory.length).toBeLessThan(3 * 9_000 * 4);
    const read = await new RollupObject(bytes).group('g');
    const without = (column: Float64Array, value: number) => new Float64Array(column.length).fill(value);
    expect(read!.series).toEqual(
      series.map((each) => ({
        ...each,
        firsts: without(each.firsts, 0),
        lasts: without(each.lasts, 0),
        restFirsts: without(each.restFirsts, 0),
        inexact: without(each.inexact, 1),
      })),
    );
  });

  test('of any other bytes is refused', () => {
    const { bytes } = write(EXAMPLE);
    for (let end = 0; end < bytes.length; end++)
      expect(() => new RollupObject(bytes.subarray(0, end))).toThrow(CorruptArchiveError);
  });

  test('that an earlier release wrote is read', async () => {
    const file = join(__dirname, '../../golden/rollup/hours.parquet');
    if (process.env.GOLDEN === 'write' && !existsSync(file)) {
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, write(EXAMPLE).bytes);
    }
    const object = new RollupObject(readFileSync(file));
    for (const [group, one] of Object.entries(EXAMPLE)) {
      const read = (await object.group(group))!;
      expect(bitsOf(read)).toEqual(bitsOf(one));
      expect(read).toMatchObject(MADE_OF);
    }
  });
});

test('hours are cut to a range, and joined again', () => {
  const all = rolled([1, 60, 1], [2, 60, 2], [3, 60, 3]);
  expect(joinRolled([sliceRolled(all, 0, 2 * HOUR), sliceRolled(all, 2 * HOUR, 9 * HOUR)])).toEqual(all);
  expect(sliceRolled(all, 2 * HOUR, 3 * HOUR)).toEqual(rolled([2, 60, 2]));
});
