import type { Block } from '../../../shared/codec';
import { encodeChunk, openChunk } from '../../../shared/codec';
import { sumFlushes } from '../../../shared/flush/partitions';
import {
  announcedDays,
  MAX_CHUNK_SERIES,
  planItems,
  planLayer,
  planTake,
  willBeDivided,
} from '../../../shared/flush/plan';
import { gather, inLayout } from '../../../shared/model/block-layout';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { type Layout, layoutOf } from '../../../shared/model/layout';
import { revisionOf } from '../../../shared/warm/warm-tier';

const host = sourceOf.host('web1');
const layoutOfNames = (...names: string[]) => layoutOf(names.map((name) => metricOf(host, name)));
/** A layout of `series` series. Layouts with different prefixes share no series. */
const wide = (prefix: string, series: number) =>
  layoutOfNames(...Array.from({ length: series }, (_, i) => `${prefix}.${i}`));

const a = layoutOfNames('a');
const ab = layoutOfNames('a', 'b');
const c = layoutOfNames('c');
const most = wide('most', MAX_CHUNK_SERIES);
const half = wide('half', MAX_CHUNK_SERIES / 2);
const otherHalf = wide('other', MAX_CHUNK_SERIES / 2);
const names: ReadonlyMap<string, string> = new Map([
  [a.id, 'a'],
  [ab.id, 'ab'],
  [c.id, 'c'],
  [most.id, 'most'],
  [half.id, 'half'],
  [otherHalf.id, 'otherHalf'],
]);
const named = (layout: Layout) =>
  names.get(layout.id) ?? layout.series.map(([, pair]) => pair?.[1]).join(' ');

test.each([
  { name: 'no lease: nothing is announced', starts: [], days: [] },
  {
    name: 'windows of one day announce it once',
    starts: ['2026-11-21T00:00Z', '2026-11-21T23:00Z'],
    days: ['2026-11-21'],
  },
  {
    name: 'late windows announce their own days',
    starts: ['2026-11-21T00:00Z', '2026-10-02T05:00Z'],
    days: ['2026-11-21', '2026-10-02'],
  },
])('the days of a flush: $name', ({ starts, days }) => {
  expect(announcedDays(starts.map((start) => ({ windowStart: Date.parse(start) })))).toEqual(days);
});

describe('which frames of a window move together', () => {
  test.each([
    { name: 'all of one layout', frames: [a, a, a], count: 3, layouts: ['a'] },
    { name: 'all of several small layouts', frames: [a, ab, a, c], count: 4, layouts: ['a', 'ab', 'c'] },
    {
      name: 'exactly as many series as a layout may have',
      frames: [half, otherHalf],
      count: 2,
      layouts: ['half', 'otherHalf'],
    },
    { name: 'those before the layout that is too much', frames: [a, a, most, a], count: 2, layouts: ['a'] },
    {
      name: 'later frames of known layouts too, up to there',
      frames: [half, a, half, most],
      count: 3,
      layouts: ['half', 'a'],
    },
    {
      name: 'those of a first layout at the bound, alone',
      frames: [most, most, a],
      count: 2,
      layouts: ['most'],
    },
  ])('$name', ({ frames, count, layouts }) => {
    const known = new Map(frames.map((layout) => [layout.id, layout]));
    const plan = planTake(
      frames.map(({ id }) => id),
      known,
    );
    expect(plan).toMatchObject({ act: 'take', count });
    expect(plan.act === 'take' && plan.layouts.map(named)).toEqual(layouts);
  });

  test.each([
    { name: 'the first layout', known: [], asks: a },
    { name: 'the first that is not known', known: [a], asks: most },
    { name: 'none beyond the layout that is too much', known: [a, most], asks: undefined },
  ])('the plan asks for $name', ({ known, asks }) => {
    const plan = planTake([a.id, most.id, c.id], new Map(known.map((layout) => [layout.id, layout])));
    expect(plan.act === 'read' ? plan.layoutId : undefined).toBe(asks?.id);
  });
});

describe('which layer takes the frames', () => {
  test.each([
    {
      name: 'a window without items begins with layer 0',
      frames: [a],
      items: [],
      layer: 0,
      merged: [],
      series: 1,
    },
    {
      name: 'the same layout again: its layer, its layout',
      frames: [ab],
      items: [[0, ab]],
      layer: 0,
      merged: ['ab'],
      series: 2,
    },
    {
      name: 'a subset of the layer adds no series',
      frames: [a],
      items: [[0, ab]],
      layer: 0,
      merged: ['ab'],
      series: 2,
    },
    {
      name: 'a new series joins the layout',
      frames: [c],
      items: [[0, ab]],
      layer: 0,
      merged: ['ab'],
      series: 3,
    },
    {
      name: 'every item of a layer is merged',
      frames: [c],
      items: [
        [0, a],
        [0, ab],
      ],
      layer: 0,
      merged: ['a', 'ab'],
      series: 3,
    },
    {
      name: 'a full layer is passed over for a new one',
      frames: [a],
      items: [[0, most]],
      layer: 1,
      merged: [],
      series: 1,
    },
    {
      name: 'the first layer with room takes them',
      frames: [a],
      items: [
        [0, most],
        [1, ab],
        [2, c],
      ],
      layer: 1,
      merged: ['ab'],
      series: 2,
    },
    {
      name: 'a full layer takes what it has already',
      frames: [most],
      items: [[0, most]],
      layer: 0,
      merged: ['most'],
      series: MAX_CHUNK_SERIES,
    },
  ] as {
    name: string;
    frames: Layout[];
    items: [number, Layout][];
    layer: number;
    merged: string[];
    series: number;
  }[])('$name', ({ frames, items, layer, merged, series }) => {
    const plan = planLayer(
      frames,
      items.map(([layer, layout]) => ({ layer, layout })),
    );
    expect({ layer: plan.layer, merged: plan.merged.map(({ layout }) => named(layout)) }).toEqual({
      layer,
      merged,
    });
    expect(plan.layout.series).toHaveLength(series);
  });
});

describe('which items are put', () => {
  /**
   * A block of one series with a row each second, from second `from` until just before `to`. Its values do not
   * compress.
   */
  const blockOf = (from: number, to: number, late: Readonly<Record<number, number>> = {}): Block =>
    gather(
      a,
      [a],
      Array.from({ length: to - from }, (_, i) => ({
        layout: a.idBytes,
        timestamp: (from + i) * 1000,
        version: { arrivalMs: 1, sequence: BigInt(from + i) },
        values: new Uint8Array(Float64Array.of(late[from + i] ?? Math.sin(from + i)).buffer),
      })),
    );
  const MAX_BYTES = 400;
  interface Stored {
    readonly startMs: number;
    readonly revision: string;
    readonly chunk: Uint8Array;
  }
  /** Plans the items of frames that are merged into stored items. `decoded` gets the start of each decoded item. */
  const plan = (block: Block, existing: readonly Stored[] = [], decoded: number[] = []) =>
    planItems(
      block,
      0,
      existing.map(({ startMs, revision, chunk }) => ({
        startMs,
        revision,
        isInLayout: true,
        block: () => {
          decoded.push(startMs);
          return openChunk(chunk).block();
        },
      })),
      MAX_BYTES,
    );
  /** The items of a window after some puts. */
  const after = (existing: readonly Stored[], puts: readonly Stored[]): Stored[] => [
    ...new Map([...existing, ...puts].map((item) => [item.startMs, item])).values(),
  ];
  const stored = (startMs: number, block: Block): Stored => {
    const chunk = encodeChunk(block);
    return { startMs, chunk, revision: revisionOf(chunk) };
  };
  const secondsOf = (chunk: Uint8Array) => [...openChunk(chunk).block().timestamps].map((ms) => ms / 1000);

  test('a window that fits an item is one item, which begins with the window', () => {
    const [item, ...others] = plan(blockOf(10, 20));
    expect(others).toEqual([]);
    expect(item).toMatchObject({ startMs: 0, replaces: undefined });
    expect(secondsOf(item!.chunk)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  });

  test('a larger one is halved in time until each item fits, and the last item is put first', () => {
    const items = plan(blockOf(0, 100));
    expect(items.length).toBeGreaterThan(2);
    for (const { chunk } of items) expect(chunk.length).toBeLessThanOrEqual(MAX_BYTES);
    expect(items.map(({ startMs }) => startMs)).toEqual(
      items.map(({ startMs }) => startMs).sort((x, y) => y - x),
    );
    expect(items.at(-1)!.startMs).toBe(0);
    expect(items.toReversed().flatMap(({ chunk }) => secondsOf(chunk))).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    );
  });

  test('items that did not change are not put; the one that did replaces its revision', () => {
    const existing = plan(blockOf(0, 100));
    expect(plan(blockOf(0, 100), existing)).toEqual([]);
    const corrected = blockOf(99, 100, { 99: -Number.MAX_VALUE });
    const [changed, ...others] = plan(corrected, existing);
    expect(others).toEqual([]);
    expect(changed).toMatchObject({ startMs: existing[0]!.startMs, replaces: existing[0]!.revision });
  });

  test('only the items that get samples are decoded, and together the items have every sample', () => {
    let items: Stored[] = [];
    for (const [from, to] of [
      [0, 60],
      [60, 61],
      [61, 130],
      [20, 25],
      [130, 131],
    ] as const) {
      const decoded: number[] = [];
      const starts = items.map(({ startMs }) => startMs).sort((x, y) => x - y);
      const touched = starts.filter(
        (startMs, i) => startMs < to * 1000 && (starts[i + 1] ?? Infinity) > from * 1000,
      );
      items = after(items, plan(blockOf(from, to), items, decoded));
      expect(decoded).toEqual(touched);
    }
    expect(items.length).toBeGreaterThan(4);
    const all = items.toSorted((x, y) => x.startMs - y.startMs).flatMap(({ chunk }) => secondsOf(chunk));
    expect(all).toEqual(Array.from({ length: 131 }, (_, i) => i));
  });

  test('an item that a crash left too long is shortened, and the later item keeps the samples', () => {
    const items = [stored(0, blockOf(0, 20)), stored(10_000, blockOf(10, 30))];
    const puts = plan(blockOf(5, 6, { 5: -Number.MAX_VALUE }), items);
    expect(puts.map(({ startMs, chunk }) => [startMs, secondsOf(chunk).at(-1)])).toEqual([[0, 9]]);
  });

  test('no empty item is put where a purge has removed the first item', () => {
    const puts = plan(blockOf(50, 51), [stored(40_000, blockOf(40, 50))]);
    expect(puts.map(({ startMs }) => startMs)).toEqual([40_000]);
  });

  test('a window counts as divided unless its only item begins with the window, where reads by key look', () => {
    const first = stored(0, blockOf(0, 10));
    const later = stored(40_000, blockOf(40, 50));
    expect(willBeDivided([], plan(blockOf(0, 10)), 0)).toBe(false);
    expect(willBeDivided([first], plan(blockOf(10, 11), [first]), 0)).toBe(false);
    expect(willBeDivided([first, later], plan(blockOf(10, 11), [first, later]), 0)).toBe(true);
    expect(willBeDivided([], plan(blockOf(0, 100)), 0)).toBe(true);
    // A purge has removed the first item.
    expect(willBeDivided([later], plan(blockOf(50, 51), [later]), 0)).toBe(true);
    expect(willBeDivided([later], plan(blockOf(10, 11), [later]), 0)).toBe(true);
  });

  test('an item without new samples is rewritten only if the layout has grown', () => {
    const chunk = encodeChunk(blockOf(0, 10));
    const wider = layoutOfNames('a', 'b');
    const grown = planItems(inLayout(blockOf(20, 21), a, wider), 0, [
      {
        startMs: 0,
        revision: 'head',
        isInLayout: false,
        block: () => inLayout(openChunk(chunk).block(), a, wider),
      },
      {
        startMs: 15_000,
        revision: 'tail',
        isInLayout: false,
        block: () => inLayout(blockOf(15, 16), a, wider),
      },
    ]);
    expect(
      grown.map(({ startMs, replaces, chunk: own }) => [startMs, replaces, secondsOf(own).length]),
    ).toEqual([
      [15_000, 'tail', 2],
      [0, 'head', 10],
    ]);
    for (const { chunk: own } of grown)
      expect(Buffer.from(openChunk(own).layout)).toEqual(Buffer.from(wider.idBytes));
  });

  test('samples that compress well are divided by their number, long before a chunk could not take them', () => {
    const series = 512;
    const rows = 4_100;
    const timestamps = Float64Array.from({ length: rows }, (_, i) => i * 50);
    const values = new Float64Array(rows);
    const block: Block = {
      layout: a.idBytes,
      timestamps,
      versions: [{ arrivalMs: 1, sequence: 1n }],
      rowVersions: new Uint32Array(rows),
      columns: Array.from({ length: series }, () => ({ values })),
    };
    const items = planItems(block, 0, []);
    const counts = items.map(({ chunk }) => openChunk(chunk).sampleCount);
    expect(Math.max(...counts)).toBeLessThanOrEqual(2 ** 20);
    expect(counts.reduce((sum, count) => sum + count)).toBe(rows * series);
  });

  test('an item that grew too large is cut: its tail is a new item, its head replaces it', () => {
    const existing = [stored(0, blockOf(0, 20)), stored(90_000, blockOf(90, 95))];
    const starts = plan(blockOf(20, 100), existing).map(({ startMs, replaces }) => [startMs, replaces]);
    expect(starts[0]).toEqual([90_000, existing[1]!.revision]);
    expect(starts.at(-1)).toEqual([0, existing[0]!.revision]);
    expect(starts.slice(1, -1).every(([, replaces]) => replaces === undefined)).toBe(true);
    expect(starts.length).toBeGreaterThan(2);
  });
});

test('the sum of flushes adds what moved, and keeps the oldest of what remains', () => {
  const flush = {
    windows: 2,
    samples: 10,
    bytes: 100,
    expired: 1,
    failed: 0,
    remaining: 1,
    oldestMs: 50,
    lowestArrivalMs: 40,
  };
  const empty = {
    windows: 0,
    samples: 0,
    bytes: 0,
    expired: 0,
    failed: 0,
    remaining: 0,
    oldestMs: Infinity,
    lowestArrivalMs: Infinity,
  };
  expect(sumFlushes([])).toEqual(empty);
  expect(sumFlushes([flush, empty, { ...flush, failed: 3, oldestMs: 20, lowestArrivalMs: 0 }])).toEqual({
    windows: 4,
    samples: 20,
    bytes: 200,
    expired: 2,
    failed: 3,
    remaining: 2,
    oldestMs: 20,
    lowestArrivalMs: 0,
  });
});
