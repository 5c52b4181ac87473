import type { Aggregate, Units } from '../model/aggregates';
import { storedUnits } from '../model/aggregates';
import type { Selection, TimeRange } from '../model/selection';
import type { ColdTier } from './cold-tier';
import type { RolledSource } from './rollup-directory';
import { type ReadUnits, readRollup } from './rollup-format';
import type { RolledValue } from './rollup-units';

/** A source's rollup object, and of which time its units are wanted. */
export interface AskedRollup {
  readonly source: RolledSource;
  /** Half-open, ascending, disjoint. */
  readonly ranges: readonly TimeRange[];
}

export interface RolledReading {
  /** For each wanted series its units, ascending. */
  readonly series: readonly Units[];
  /** What was read of each object: its samples, and the first and last start of a unit; undefined when nothing was. */
  readonly places: readonly {
    readonly place: string;
    readonly bytes: number;
    readonly samples: number;
    readonly span: { readonly firstMs: number; readonly lastMs: number } | undefined;
  }[];
}

const VALUE_OF: Readonly<Record<Aggregate, RolledValue | undefined>> = {
  avg: 'sum',
  sum: 'sum',
  min: 'min',
  max: 'max',
  first: 'first',
  last: 'last',
  count: undefined,
};

/**
 * Reads an aggregate of series from rollups: a request for each group of an object, or none for counts.
 *
 * @param asked in order of time
 * @throws {ObjectChangedError} when an object was replaced or removed meanwhile
 */
export async function readRollups(
  cold: ColdTier,
  asked: readonly AskedRollup[],
  { wanted, groups, layouts }: Selection,
  aggregate: Aggregate,
): Promise<RolledReading> {
  const found = await Promise.all(
    asked.map(async ({ source, ranges }) => {
      const { key, etag } = source;
      let bytes = 0;
      const slice = (range: { readonly offset: number; readonly length: number }) => {
        bytes += range.length;
        return cold.slice(key, etag, range);
      };
      const ofGroups = await Promise.all(
        source.groups
          .filter(({ group }) => groups.includes(group))
          .map((listed) => readRollup({ slice }, listed, layouts, wanted.columns, VALUE_OF[aggregate])),
      );
      const series = new Map<number, Picked>();
      const place = { samples: 0, firstMs: Infinity, lastMs: -Infinity };
      for (const ofGroup of ofGroups)
        for (const [position, units] of ofGroup) {
          const picked = series.get(position) ?? new Picked();
          series.set(position, picked);
          picked.add(units, ranges, place);
        }
      const { samples, firstMs, lastMs } = place;
      const span = samples === 0 ? undefined : { firstMs, lastMs };
      return { series, place: { place: key, bytes, samples, span } };
    }),
  );
  return {
    series: wanted.series.map((_, position) => {
      const all = new Picked();
      for (const { series } of found) {
        const picked = series.get(position);
        if (picked !== undefined) all.append(picked);
      }
      return all.units(aggregate);
    }),
    places: found.map(({ place }) => place),
  };
}

/** Units of a series within ranges. */
class Picked {
  private readonly starts: number[] = [];
  private readonly counts: number[] = [];
  private readonly values: number[] = [];

  add(
    { starts, counts, values }: ReadUnits,
    ranges: readonly TimeRange[],
    place: { samples: number; firstMs: number; lastMs: number },
  ): void {
    let at = 0;
    for (const { fromMs, toMs } of ranges) {
      while (at < starts.length && starts[at]! < fromMs) at++;
      for (; at < starts.length && starts[at]! < toMs; at++) {
        this.starts.push(starts[at]!);
        this.counts.push(counts[at]!);
        this.values.push(values[at]!);
        place.samples += counts[at]!;
        place.firstMs = Math.min(place.firstMs, starts[at]!);
        place.lastMs = Math.max(place.lastMs, starts[at]!);
      }
    }
  }

  append({ starts, counts, values }: Picked): void {
    for (let i = 0; i < starts.length; i++) {
      this.starts.push(starts[i]!);
      this.counts.push(counts[i]!);
      this.values.push(values[i]!);
    }
  }

  /** Two groups may have had the series, one after the other. */
  units(aggregate: Aggregate): Units {
    const { starts, counts, values } = this;
    const isAscending = starts.every((start, i) => i === 0 || start > starts[i - 1]!);
    if (isAscending) return storedUnits(aggregate, starts, values, counts);
    const order = [...starts.keys()].sort((a, b) => starts[a]! - starts[b]!);
    const sorted = (column: readonly number[]) => order.map((i) => column[i]!);
    return storedUnits(aggregate, sorted(starts), sorted(values), sorted(counts));
  }
}
