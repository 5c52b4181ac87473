import fc from 'fast-check';
import { type Block, mergeBlocks, sampleCount, sliceBlock } from '../../../shared/codec';
import type { ListedChunk } from '../../../shared/cold/archive-format';
import { readListed } from '../../../shared/cold/parquet-reader';
import { ArchiveWriter } from '../../../shared/cold/parquet-writer';
import { gather } from '../../../shared/model/block-layout';
import { labelsOf, METRIC_NAME } from '../../../shared/model/labels';
import { layoutOf } from '../../../shared/model/layout';
import { equals } from '../../../shared/model/matcher';
import type { Selection } from '../../../shared/model/selection';
import { planDays } from '../../../shared/query/plan';
import { ExpectedSamples, ReadBudget } from '../../../shared/query/read-budget';
import type { ReadPlan } from '../../../shared/query/read-plan';
import { readRounds } from '../../../shared/query/read-rounds';
import { estimateSamples, leastSamples } from '../../../shared/query/sample-estimate';
import { anyBlock } from '../codec/arbitraries';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const series = ['a', 'b', 'c', 'd'].map((name) => labelsOf([METRIC_NAME, name]));
const layout = layoutOf(series);
const matchers = [equals(METRIC_NAME, 'a')];

function selectionOf(names: number, fromMs = 0, toMs = 10 * DAY): Selection {
  const wanted = layoutOf(series.slice(0, names));
  return { wanted, groups: ['g'], range: { fromMs, toMs }, layouts: new Map([[layout.id, layout]]) };
}

/**
 * Writes an object with blocks of the four series. Returns its bytes, and its chunks, in the form in which the
 * directory lists them.
 */
async function archived(blocks: readonly Block[]) {
  const parts: Uint8Array[] = [];
  const writer = new ArchiveWriter(async (part) => {
    parts.push(Uint8Array.from(part));
  });
  await writer.addGroup(
    'g',
    blocks.map((block) => ({ layout, block })),
  );
  const chunks = await writer.finish(new Map());
  return { bytes: Buffer.concat(parts), chunks };
}

/** A day's block: the first series has a sample every hour, the others have one every minute. */
function dayOf(day: number): Block {
  const frames = Array.from({ length: DAY / MINUTE }, (_, minute) => {
    const own = layoutOf(minute % 60 === 0 ? series : series.slice(1));
    return {
      layout: own.idBytes,
      timestamp: day * DAY + minute * MINUTE,
      version: { arrivalMs: 0, sequence: 0n },
      values: new Uint8Array(8 * own.series.length),
    };
  });
  return gather(layout, [layout, layoutOf(series.slice(1))], frames);
}

function asksOf(chunks: readonly ListedChunk[], key = 'k') {
  const days = [{ day: '1970-01-01', key: 'k', isContested: () => false }];
  return { samples: { days, directory: new Map([['1970-01-01', { key, etag: 'e', chunks }]]) } };
}

describe('the directory of the archive tells how many samples are read', () => {
  test.each([
    { name: 'all series of a day', selection: selectionOf(4), days: 1, samples: 24 + 3 * 1440 },
    { name: 'a series with fewer samples than the others', selection: selectionOf(1), days: 1, samples: 24 },
    { name: 'six hours of a day', selection: selectionOf(2, 0, 6 * HOUR), days: 1, samples: 6 + 360 },
    { name: 'two chunks', selection: selectionOf(2), days: 2, samples: 2 * (24 + 1440) },
    { name: 'another group', selection: { ...selectionOf(1), groups: ['h'] }, days: 1, samples: 0 },
    {
      name: 'a layout that is not known yet',
      selection: { ...selectionOf(1), layouts: new Map() },
      days: 1,
      samples: 0,
    },
  ])('$name', async ({ selection, days, samples }) => {
    const { chunks } = await archived(Array.from({ length: days }, (_, day) => dayOf(day)));
    expect(estimateSamples(asksOf(chunks), selection, HOUR)).toBe(samples);
  });

  test('exactly, whatever the series, their gaps and the range', async () => {
    const time = fc.integer({ min: -5, max: 12 });
    await fc.assert(
      fc.asyncProperty(
        anyBlock(4),
        fc.subarray(series, { minLength: 1 }),
        time,
        time,
        async (block, some, a, b) => {
          if (block.timestamps.length === 0) return;
          const [fromMs, toMs] = [Math.min(a, b), Math.max(a, b)];
          const selection = { ...selectionOf(1, fromMs, toMs), wanted: layoutOf(some) };
          const { bytes, chunks } = await archived([block]);
          const object = {
            key: 'k',
            slice: async ({ offset = 0, length = 0 }) => bytes.subarray(offset, offset + length),
          };
          const found = await readListed(object, chunks[0]!, selection, false);
          const read = found === undefined ? 0 : sampleCount(sliceBlock(found.block, fromMs, toMs));
          expect(estimateSamples(asksOf(chunks), selection, HOUR)).toBe(read);
        },
      ),
    );
  });

  test('the entry of an earlier object is not used', async () => {
    const { chunks } = await archived([dayOf(0)]);
    expect(estimateSamples(asksOf(chunks, 'earlier'), selectionOf(1), HOUR)).toBe(0);
  });
});

test('blocks of memory are never said to have more samples than they have once they are merged', () => {
  fc.assert(
    fc.property(fc.array(anyBlock(3), { minLength: 1, maxLength: 4 }), (blocks) => {
      expect(leastSamples(blocks)).toBeLessThanOrEqual(sampleCount(blocks.reduce(mergeBlocks)));
    }),
  );
});

test('blocks of memory one after the other are added up', () => {
  expect(leastSamples([dayOf(1), dayOf(0)])).toBe(2 * (24 + 3 * 1440));
});

test('samples of memory count before any table is asked', async () => {
  const { wanted } = selectionOf(4);
  const samples = 24 + 3 * 1440;
  const full = new ReadBudget({ series: 10, sources: 10, samples: samples - 1 });
  // A read that was combined with others tells nothing about its series.
  const other = new ReadBudget({ series: 10, sources: 10, samples: 0 });
  const days = planDays({ fromMs: 0, toMs: DAY }, [HOUR], () => ({ tenantId: 't', partition: 0 }));
  const readWith = (...expected: ExpectedSamples[]) => {
    // The plan has no tables, so a request fails with another error.
    const plan = { homeId: 'home', request: { wanted, expected } } as unknown as ReadPlan;
    return readRounds(plan, days, [], [dayOf(0)]);
  };
  const own = new ExpectedSamples(full, matchers, wanted);
  const others = new ExpectedSamples(other, matchers, layoutOf(series.slice(1)));
  await expect(readWith(own)).rejects.toThrow(`an estimated ${samples} samples`);
  await expect(readWith(own, others)).rejects.toThrow(TypeError);
  other.check();
});

test('grains of rollups count as samples', () => {
  const rollups = [{ days: 30 }, { days: 2 }] as unknown as Parameters<typeof estimateSamples>[0]['rollups'];
  expect(estimateSamples({ ...(rollups && { rollups }) }, selectionOf(2), HOUR)).toBe(32 * 24 * 2);
});

describe('the budget of a query', () => {
  const limits = { series: 10, sources: 10, samples: 100 };

  test('refuses samples before they are read, with their number and the limit', () => {
    const budget = new ReadBudget(limits);
    budget.takeSeries(2, matchers);
    const [first, second] = [0, 1].map(() => new ExpectedSamples(budget, matchers, layout));
    first!.expect('home', () => 60);
    budget.check();
    second!.expect('home', () => 41);
    expect(() => budget.check()).toThrow(
      '{__name__="a"} selects an estimated 101 samples or more, and at most 100 may be read; narrow it by labels, or shorten the range',
    );
  });

  test('counts homes of a source once, since they may have the same samples', () => {
    const budget = new ReadBudget(limits);
    const read = new ExpectedSamples(budget, matchers, layout);
    read.expect('home', () => 90);
    read.expect('pool', () => 95);
    budget.check();
    read.expect('home', () => 101);
    expect(() => budget.check()).toThrow('an estimated 101 samples');
  });

  test('counts the samples read instead of the estimate, and a repeated read once', () => {
    const budget = new ReadBudget(limits);
    const read = new ExpectedSamples(budget, matchers, layout);
    read.expect('home', () => 90);
    read.expect('home', () => 80);
    read.expect('pool', () => 20);
    read.settle({ block: { columns: [{ values: new Float64Array(10) }] } as unknown as Block });
    new ExpectedSamples(budget, matchers, layout).expect('home', () => 90);
    expect(() => budget.takeSamples(1, matchers)).toThrow('more than 100 samples');
  });
});
