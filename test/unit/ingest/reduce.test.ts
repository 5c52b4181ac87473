import fc from 'fast-check';
import { decodeFrame, presenceOf, presentSeries } from '../../../shared/codec';
import { CommonLayouts } from '../../../shared/ingest/common-layouts';
import { type ArrivedRecord, byPartition, reducePartition } from '../../../shared/ingest/reduce';
import { idText } from '../../../shared/model/id';
import { labelValue, METRIC_NAME, metricOf, sourceOf } from '../../../shared/model/labels';
import { decodeLayout, layoutOf } from '../../../shared/model/layout';
import { packLayout, unpackLayout } from '../../../shared/model/packed-layout';
import { sourceIdBytesOf, sourceIdOf, tenantIdOf } from '../../../shared/model/placement';
import { leastCpuSeconds } from '../../support/cpu-seconds';

const HOUR = 3_600_000;
const T = 500_000 * HOUR;

interface Row {
  readonly host?: string;
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
  /** Names of series that are in the row's layout but have no value in the row. */
  readonly absent?: readonly string[];
}

/** A batch of records, one for each list of rows. Later records have higher versions. */
function batchOf(...records: Row[][]) {
  return records.map((rows, index) => ({
    index,
    version: { arrivalMs: 1000 + index, sequence: BigInt(index) },
    record: {
      tenant: 't',
      partition: 0,
      groups: rows.map(({ host = 'h', at, values, absent = [] }) => {
        const source = sourceOf.host(host);
        const layout = layoutOf([...Object.keys(values), ...absent].map((name) => metricOf(source, name)));
        const all = layout.series.map((labels) => values[labelValue(labels, METRIC_NAME)!]);
        const present = [...all.keys()].filter((column) => all[column] !== undefined);
        const presence = absent.length === 0 ? undefined : presenceOf(present, all.length);
        return {
          sourceIdBytes: sourceIdBytesOf(tenantIdOf('t'), source),
          splitBits: 0,
          splitIndex: 0,
          layout: packLayout(layout.bytes),
          frames: [
            {
              timestamp: at,
              presence,
              values: Buffer.from(Float64Array.from(present, (column) => all[column]!).buffer),
            },
          ],
        };
      }),
    },
  }));
}

/** The samples of a reduced batch, as `name@timestamp=value`, repetitions included. */
function contents(batches: ReturnType<typeof reduceBatch>): string[] {
  return batches
    .flatMap(({ windows, layouts }) =>
      windows.flatMap(({ frames }) =>
        frames.flatMap((bytes) => {
          const frame = decodeFrame(bytes);
          const values = new Float64Array(Uint8Array.from(frame.values).buffer);
          const { series } = decodeLayout(unpackLayout(layouts.get(idText(frame.layout))!.packed));
          const present =
            frame.presence === undefined ? [...series.keys()] : [...presentSeries(frame.presence)];
          return present.map(
            (column, i) => `${labelValue(series[column]!, METRIC_NAME)}@${frame.timestamp}=${values[i]}`,
          );
        }),
      ),
    )
    .sort();
}

function reduceBatch(
  records: readonly ArrivedRecord[],
  windowMs: number,
  commonLayouts = new CommonLayouts(),
) {
  return byPartition(records).map((arrived) => reducePartition(arrived, windowMs, commonLayouts));
}

describe('reducing a batch', () => {
  test('keeps the value of the higher sequence number although it arrived earlier by the stream’s clock', () => {
    const [first, later] = batchOf([{ at: T, values: { a: 1 } }], [{ at: T, values: { a: 2 } }]);
    const corrected = { ...later!, version: { ...later!.version, arrivalMs: 10 } };
    expect(contents(reduceBatch([first!, corrected], HOUR))).toEqual([`a@${T}=2`]);
    expect(contents(reduceBatch([corrected, first!], HOUR))).toEqual([`a@${T}=2`]);
  });

  test('keeps of each (series, timestamp) the value of the highest version', () => {
    const flood = Array.from({ length: 1000 }, (_, i) => [{ at: T, values: { a: i } }]);
    expect(contents(reduceBatch(batchOf(...flood), HOUR))).toEqual([`a@${T}=999`]);
    expect(contents(reduceBatch(batchOf(...flood).reverse(), HOUR))).toEqual([`a@${T}=999`]);
  });

  test('joins rows of one source and time in linear time', () => {
    const joined = (count: number) => {
      const rows = Array.from({ length: count }, (_, i) => ({ at: T, values: { [`m${i}`]: i } }));
      const records = batchOf(rows, rows.slice(0, count / 2));
      const batches = reduceBatch(records, HOUR);
      expect(contents(batches)).toEqual(rows.map((_, i) => `m${i}@${T}=${i}`).sort());
      const frames = batches.flatMap(({ windows }) => windows.flatMap((window) => window.frames));
      // There is one frame for each version: that of the corrected half, and that of the rest.
      expect(frames.length).toBeLessThan(2 + count / 500);
      return leastCpuSeconds(() => void reduceBatch(records, HOUR));
    };
    // Ten times the rows; comparing every pair of rows would take a hundred times as long.
    expect(joined(10_000)).toBeLessThan(40 * joined(1_000));
  });

  test('writes rows of a group in the largest layout that has come with a presence map, if it has their series', () => {
    const names = (...each: string[]) => Object.fromEntries(each.map((name, i) => [name, i + 1]));
    const commonLayouts = new CommonLayouts();
    const layoutsOf = (host: string, row: Omit<Row, 'at' | 'host'>) => {
      const batches = reduceBatch(batchOf([{ host, at: T, ...row }]), HOUR, commonLayouts);
      const values = Object.entries(row.values).map(([name, value]) => `${name}@${T}=${value}`);
      expect(contents(batches)).toEqual(values.sort());
      return batches.flatMap(({ groupLayouts }) => [...groupLayouts.values()].flatMap((ids) => [...ids]));
    };
    const union = { values: names('b', 'd'), absent: ['a', 'c'] };
    const [common] = layoutsOf('cut', union);
    expect(layoutsOf('cut', { values: names('a', 'd') })).toEqual([common]);
    expect(layoutsOf('cut', { values: names('c'), absent: ['b'] })).toEqual([common]);
    expect(layoutsOf('cut', { values: names('a', 'e') })).not.toEqual([common]);
    // A larger layout replaces it.
    const [larger] = layoutsOf('cut', { values: names('e'), absent: ['a', 'b', 'c', 'd'] });
    expect(layoutsOf('cut', union)).toEqual([larger]);
    expect(layoutsOf('cut', { values: names('a', 'e') })).toEqual([larger]);
    // A source whose rows are never cut keeps its layouts.
    layoutsOf('whole', { values: names('a', 'b', 'c') });
    const [few] = layoutsOf('whole', { values: names('a', 'b') });
    expect(few).toBe(
      idText(layoutOf(['a', 'b'].map((name) => metricOf(sourceOf.host('whole'), name))).idBytes),
    );
  });

  test('writes rows of each queue of a source in its own layout, and joins none of one timestamp', () => {
    const queues: Record<string, number>[] = [
      { a: 1, b: 2, c: 3 },
      { d: 4, e: 5, f: 6 },
    ];
    const cut = batchOf(
      [{ host: 'queues', at: T, values: { a: 1, b: 2 }, absent: ['c'] }],
      [{ host: 'queues', at: T, values: { d: 4 }, absent: ['e', 'f'] }],
    );
    const commonLayouts = new CommonLayouts();
    reduceBatch(cut, HOUR, commonLayouts);
    // Rows as written by an instance of `post` that has not seen the whole rows of the queues.
    const pieces: Record<string, number>[] = [{ a: 1, b: 2 }, { c: 3 }, { e: 5, f: 6 }, { d: 4 }];
    const [batch] = reduceBatch(
      batchOf(
        queues.map((values) => ({ host: 'queues', at: T, values })),
        pieces.map((values) => ({ host: 'queues', at: T + 1, values })),
      ),
      HOUR,
      commonLayouts,
    );
    expect([...batch!.layouts.keys()]).toEqual(
      queues.map((values) =>
        idText(layoutOf(Object.keys(values).map((name) => metricOf(sourceOf.host('queues'), name))).idBytes),
      ),
    );
    expect(batch!.windows[0]!.frames.length).toBe(4);
    expect(contents([batch!])).toEqual(
      queues.flatMap((values) =>
        Object.entries(values).flatMap(([name, value]) => [
          `${name}@${T}=${value}`,
          `${name}@${T + 1}=${value}`,
        ]),
      ),
    );
  });

  test('corrects one series of a row and leaves the others', () => {
    const batch = batchOf([{ at: T, values: { a: 1, b: 2, c: 3 } }], [{ at: T, values: { b: 20 } }]);
    expect(contents(reduceBatch(batch, HOUR))).toEqual([`a@${T}=1`, `b@${T}=20`, `c@${T}=3`]);
  });

  test('puts the frames of a group in the window of their time', () => {
    const [batch] = reduceBatch(
      batchOf([
        { at: T - 1, values: { a: 1 } },
        { at: T, values: { a: 2 } },
      ]),
      HOUR,
    );
    expect(batch!.windows.map(({ windowStart, frames }) => [windowStart, frames.length])).toEqual([
      [T - HOUR, 1],
      [T, 1],
    ]);
  });

  test('divides records by partition', () => {
    const records = batchOf([{ at: T, values: { a: 1 } }], [{ host: 'i', at: T, values: { a: 1 } }]);
    const indexes = (all: typeof records) => byPartition(all).map((own) => own.map(({ index }) => index));
    expect(indexes(records)).toEqual([[0, 1]]);
    const elsewhere = { ...records[1]!, record: { ...records[1]!.record, partition: 1 } };
    expect(indexes([records[0]!, elsewhere])).toEqual([[0], [1]]);
  });

  test('gives each deletion the version of its record', () => {
    const [{ record, version, index }] = batchOf([{ at: T, values: { a: 1 } }]) as [
      ReturnType<typeof batchOf>[number],
    ];
    const sourceId = sourceIdOf(tenantIdOf('t'), sourceOf.host('h'));
    const deletion = { selector: { name: 'a', isPrefix: false }, fromMs: T, toMs: T + 1 };
    const deletions = [{ ...deletion, sourceId }];
    const [batch] = reduceBatch([{ record: { ...record, groups: [], deletions }, version, index }], HOUR);
    expect(batch).toMatchObject({ windows: [], samples: 0 });
    expect(batch!.deletions).toEqual([{ ...deletion, sourceId, version }]);
  });

  test('gives what a plain map gives, in any order and for any number of deliveries', () => {
    const row = fc.record({
      at: fc.constantFrom(T, T + 60_000),
      values: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer(), { minKeys: 1 }),
      absent: fc.constantFrom([], ['x'], ['A', 'z']),
    });
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 8 }),
        fc.infiniteStream(fc.nat()),
        (rows, dice) => {
          const plain = new Map<string, number>();
          for (const { at, values } of rows)
            for (const [name, value] of Object.entries(values)) plain.set(`${name}@${at}`, value);
          const batch = batchOf(...rows.map((each) => [each]));
          const delivered = [...batch, ...batch.filter(() => dice.next().value! % 2 === 0)];
          delivered.sort(() => (dice.next().value! % 2 === 0 ? 1 : -1));
          expect(contents(reduceBatch(delivered, HOUR))).toEqual(
            [...plain].map(([k, v]) => `${k}=${v}`).sort(),
          );
        },
      ),
    );
  });
});
