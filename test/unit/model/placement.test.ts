import fc from 'fast-check';
import { labelsKey, labelsOf, metricOf, sourceOf } from '../../../shared/model/labels';
import {
  daysIn,
  GROUP_ID_LENGTH,
  groupIdOf,
  MAX_GROUP_SERIES,
  partitionOf,
  partitionsOn,
  sourceIdOf,
  sourceIdOfGroup,
  splitBitsFor,
  splitBitsOfGroup,
  splitIndexOf,
  tenantIdOf,
  windowStartMs,
} from '../../../shared/model/placement';

describe('placement', () => {
  test('gives ids of a fixed form for any name', () => {
    for (const name of ['a', '{steer}', 'x'.repeat(10_000), '#', '\0', '']) {
      const tenantId = tenantIdOf(name);
      const sourceId = sourceIdOf(tenantId, sourceOf.host(name));
      expect(tenantId).toMatch(/^[\w-]{22}$/);
      expect(sourceId).toMatch(/^[\w-]{22}$/);
      expect(groupIdOf(sourceId, 15, 32767)).toHaveLength(GROUP_ID_LENGTH);
    }
  });

  test('never gives two tenants, or a host and a service of one name, one source', () => {
    const ids = new Set(
      ['a', 'b'].flatMap((tenant) =>
        ['x', 'y'].flatMap((name) => [
          sourceIdOf(tenantIdOf(tenant), sourceOf.host(name)),
          sourceIdOf(tenantIdOf(tenant), sourceOf.service(name)),
        ]),
      ),
    );
    expect(ids.size).toBe(8);
  });

  test.each([
    { series: 1, groups: 1 },
    { series: MAX_GROUP_SERIES, groups: 1 },
    { series: MAX_GROUP_SERIES + 1, groups: 2 },
    { series: 1000, groups: 4 },
    { series: 80_000, groups: 512 },
  ])('splits a source of $series series into $groups groups', ({ series, groups }) => {
    expect(2 ** splitBitsFor(series)).toBe(groups);
  });

  test('spreads the series of a large source evenly over its groups', () => {
    const counts = new Map<number, number>();
    for (let i = 0; i < 4096; i++) {
      const index = splitIndexOf(labelsKey(metricOf(sourceOf.host('h'), `m${i}`)), 4);
      counts.set(index, (counts.get(index) ?? 0) + 1);
    }
    expect(counts.size).toBe(16);
    expect(Math.max(...counts.values())).toBeLessThan(1.3 * MAX_GROUP_SERIES);
  });

  test('reads source and split from a group id', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 0, max: 15 }), (name, bits) => {
        const sourceId = sourceIdOf(tenantIdOf('t'), labelsOf(['job', name]));
        const group = groupIdOf(sourceId, bits, 2 ** bits - 1);
        expect(sourceIdOfGroup(group)).toBe(sourceId);
        expect(splitBitsOfGroup(group)).toBe(bits);
      }),
    );
  });

  test('gives a partition below the number of partitions', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 4096 }), (name, partitions) => {
        const partition = partitionOf(sourceIdOf(tenantIdOf('t'), sourceOf.host(name)), partitions);
        expect(partition).toBeGreaterThanOrEqual(0);
        expect(partition).toBeLessThan(partitions);
      }),
    );
  });

  test('uses the map of the day', () => {
    const placement = {
      epochs: [
        { fromDay: '1970-01-01', partitions: 4 },
        { fromDay: '2026-11-23', partitions: 8 },
      ],
    };
    expect(partitionsOn(placement, '2026-11-22')).toBe(4);
    expect(partitionsOn(placement, '2026-11-23')).toBe(8);
    expect(partitionsOn(placement, '2027-01-01')).toBe(8);
  });

  test('aligns windows down, before the epoch too', () => {
    expect(windowStartMs(3_600_001, 3_600_000)).toBe(3_600_000);
    expect(windowStartMs(-1, 3_600_000)).toBe(-3_600_000);
  });

  test('lists the days of a half-open range', () => {
    const day = 86_400_000;
    expect(daysIn(0, day)).toEqual(['1970-01-01']);
    expect(daysIn(day - 1, day + 1)).toEqual(['1970-01-01', '1970-01-02']);
    expect(daysIn(day, day)).toEqual([]);
  });
});
