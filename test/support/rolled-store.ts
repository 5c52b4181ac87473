import type { ByteRange } from '../../shared/cold/archive-format';
import type { ReadGrains } from '../../shared/cold/rollup-format';
import { rollUp } from '../../shared/cold/rollup-grains';
import { readRollup } from '../../shared/cold/rollup-object';
import type { RolledObject } from '../../shared/cold/rollup-read';
import { RollupWriter } from '../../shared/cold/rollup-writer';
import { DAY_MS } from '../../shared/model/duration';
import { labelsKey } from '../../shared/model/labels';
import { type Layout, layoutOf } from '../../shared/model/layout';
import type { Matcher } from '../../shared/model/matcher';
import type { SampleColumns } from '../../shared/model/sample-columns';
import type { TimeRange } from '../../shared/model/selection';
import { MemorySampleStore } from '../../shared/promql/memory-store';
import type { SampleStore, SelectOptions } from '../../shared/promql/store';
import { PointJoiner } from '../../shared/query/point-joiner';
import { columnsFor, pointsOf } from '../../shared/query/rolled-points';

/**
 * A store that keeps samples in memory. If a query allows rollups, the store returns points of rollups instead of
 * samples, for the days that have them.
 */
export class RolledStore implements SampleStore {
  readonly memory = new MemorySampleStore();
  /** The requests made so far. */
  readonly reads: unknown[] = [];
  /** Number of points of rollups that were read instead of samples, over all series and reads. */
  points = 0;
  private readonly objects = new Map<string, NonNullable<ReturnType<typeof written>>>();

  /** @param isRolled whether the day that starts at a given time (in ms) has rollups */
  constructor(private readonly isRolled: (dayMs: number) => boolean = () => true) {}

  async select(matchers: readonly Matcher[], range: TimeRange, { grains }: SelectOptions = {}) {
    this.reads.push(grains === undefined ? range : { ...range, ...grains });
    if (grains === undefined) return this.memory.select(matchers, range);
    const ranges = daysOf(range).filter(({ fromMs }) => this.isRolled(dayOf(fromMs)));
    const { series, warnings } = await this.memory.select(matchers, { fromMs: -Infinity, toMs: Infinity });
    const rolled: (ReadGrains | undefined)[] = [];
    for (const each of series) {
      const own = await this.rolledUp(each, grains.grainMs, columnsFor(grains));
      if (own === 'not storable') return this.memory.select(matchers, range);
      rolled.push(own);
    }
    const object: RolledObject = {
      requested: { source: undefined as never, ranges },
      place: '',
      bytes: 0,
      grains: rolled.flatMap((own, i) => (own === undefined ? [] : [[i, own] as const])),
    };
    const { series: points, unproven } = pointsOf([object], grains, series.length);
    const isPoint = (ms: number) =>
      ranges.some(({ fromMs, toMs }) => ms >= fromMs && ms < toMs) && !unproven.has(dayOf(ms));
    const joiner = new PointJoiner(grains);
    return {
      warnings,
      series: series.map((each, i) => {
        this.points += points[i]!.timestamps.length;
        const own = (_: number, at: number) => {
          const ms = each.timestamps[at]!;
          return ms >= range.fromMs && ms < range.toMs && !isPoint(ms);
        };
        const bits = new BigUint64Array(each.values.buffer, each.values.byteOffset, each.values.length);
        const samples: SampleColumns = {
          labels: each.labels,
          timestamps: each.timestamps.filter(own),
          values: new Float64Array(bits.filter((_, at) => own(0, at)).buffer),
        };
        return joiner.join(samples, points[i]!);
      }),
    };
  }

  /** Reads columns from the object of a series. The object is written only once. */
  private async rolledUp(
    samples: SampleColumns,
    grainMs: number,
    columns: ReturnType<typeof columnsFor>,
  ): Promise<ReadGrains | undefined | 'not storable'> {
    const { labels, timestamps } = samples;
    if (timestamps.length === 0) return undefined;
    const layout = layoutOf([labels]);
    const key = `${layout.id} ${grainMs} ${timestamps.length}`;
    const object = this.objects.get(key) ?? written(samples, layout, grainMs);
    if (object === undefined) return 'not storable';
    this.objects.set(key, object);
    const wanted = new Map([[labelsKey(labels), 0]]);
    const layouts = new Map([[layout.id, layout]]);
    return (await readRollup(object, object.listed, layouts, wanted, columns)).get(0);
  }
}

let objects = 0;

function written({ timestamps, values }: SampleColumns, layout: Layout, grainMs: number) {
  const series = rollUp({ timestamps, columns: [{ values }] } as never, grainMs);
  if (series === undefined) return undefined;
  const writer = new RollupWriter(grainMs);
  writer.addGroup('g', { layout, series, days: Buffer.alloc(8), deletions: '' });
  const { bytes, listed } = writer.finish();
  return {
    name: `rolled store ${objects++}`,
    listed: listed[0]!,
    slice: async ({ offset, length }: ByteRange) => bytes.subarray(offset, offset + length),
  };
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

function daysOf({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }) {
  const days = [];
  for (let ms = fromMs; ms < toMs; ms = dayOf(ms) + DAY_MS)
    days.push({ fromMs: ms, toMs: Math.min(toMs, dayOf(ms) + DAY_MS) });
  return days;
}
