import { hash } from 'node:crypto';
import fc from 'fast-check';
import { Random } from '../../../scripts/faults/random';
import { presentSeries } from '../../../shared/codec';
import { UNION_MS } from '../../../shared/dictionary/home';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import type { SourceRows } from '../../../shared/dictionary/series-source';
import { labelsKey, metricOf, sourceOf } from '../../../shared/model/labels';
import { decodeLayout } from '../../../shared/model/layout';
import { unpackLayout } from '../../../shared/model/packed-layout';
import { tenantIdOf } from '../../../shared/model/placement';
import { rowsOf } from '../../../shared/protocol/mackerel/json';
import { decodeRecord } from '../../../shared/stream/record-decoder';
import { rowRecords } from '../../../shared/stream/row-records';

const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 4 }] },
};
const dictionary = new SeriesDictionary(tenant.id);
let hosts = 0;
/** A new name for each use, because the dictionary keeps what it learned of a source. */
const newHost = () => `h${hosts++}`;

/** Posts one row. Returns its samples as they are in the stream, and the layouts that they refer to. */
function post(host: string, timestamp: number, values: ReadonlyMap<string, number>) {
  const source = sourceOf.host(host);
  const records = rowRecords(tenant, [rowsOf(dictionary, source, new Map([[timestamp, values]]))]);
  const samples = new Map<string, number>();
  const layouts = new Set<string>();
  let isPartial = false;
  for (const { data } of records)
    for (const { layout, frames } of decodeRecord(data).groups) {
      layouts.add(layout.id);
      const { series } = decodeLayout(unpackLayout(layout.packed));
      for (const frame of frames) {
        const bytes = Buffer.from(frame.values);
        isPartial ||= frame.presence !== undefined;
        const present = frame.presence === undefined ? [...series.keys()] : presentSeries(frame.presence);
        present.forEach((column, i) => {
          samples.set(`${labelsKey(series[column]!)} ${frame.timestamp}`, bytes.readDoubleLE(8 * i));
        });
      }
    }
  return { samples, layouts, isPartial, bytes: records.reduce((sum, { data }) => sum + data.length, 0) };
}

const key = (host: string, name: string, timestamp: number) =>
  `${labelsKey(metricOf(sourceOf.host(host), name))} ${timestamp}`;
const names = (count: number) => Array.from({ length: count }, (_, i) => `disk.sda${i}.reads.delta`);
const queuesOf = (series: number, queues: number) =>
  Array.from({ length: queues }, (_, queue) => names(series).filter((_, i) => i % queues === queue));
const rowOf = (all: readonly string[], value = 1) => new Map(all.map((name, i) => [name, value + i / 7]));

describe('rows cut anywhere', () => {
  test('are stored as a plain map of them, for any cuts and any number of series', () => {
    const row = fc.tuple(fc.integer({ min: 0, max: 600 }), fc.integer({ min: 1, max: 400 }));
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), (rows) => {
        const host = newHost();
        const all = names(1_000);
        for (const [i, [from, count]] of rows.entries()) {
          const values = rowOf(all.slice(from, from + count), i);
          const { samples } = post(host, i, values);
          expect(samples).toEqual(new Map([...values].map(([name, value]) => [key(host, name, i), value])));
        }
      }),
      { numRuns: 30 },
    );
  });

  test('have few layouts: 500 random halves of 100 series, a handful', () => {
    const random = new Random(1);
    const host = newHost();
    const layouts = new Set<string>();
    const later = new Set<string>();
    for (let i = 0; i < 500; i++) {
      const half = names(100).filter(() => random.chance(0.5));
      for (const id of post(host, i, rowOf(half)).layouts) (i < 20 ? layouts : later).add(id);
    }
    expect(layouts.size).toBeLessThan(12);
    expect(later.size).toBe(1);
  });

  test('that recur have a layout of their own and no presence map', () => {
    const host = newHost();
    const shapes = [rowOf(names(100)), rowOf(names(30))];
    for (const shape of shapes) post(host, 0, shape);
    expect(post(host, 1, shapes[0]!).isPartial).toBe(false);
  });

  test('are stored as a plain map of them when their unions start again', () => {
    const row = fc.tuple(fc.nat({ max: 280 }), fc.integer({ min: 1, max: 40 }));
    fc.assert(
      fc.property(fc.array(row, { minLength: 40, maxLength: 60 }), (rows) => {
        const host = newHost();
        const all = names(300);
        for (const [i, [from, count]] of rows.entries()) {
          const at = (i * UNION_MS) / 10;
          const values = rowOf(all.slice(from, from + count), i);
          const { samples } = post(host, at, values);
          expect(samples).toEqual(new Map([...values].map(([name, value]) => [key(host, name, at), value])));
        }
      }),
      { numRuns: 4 },
    );
  });

  test('that are dealt out to queues have a layout for each queue, and presence maps only where a request ends', () => {
    const host = newHost();
    const queues = queuesOf(400, 4);
    const layouts = queues.flatMap((queue) => [...post(host, 0, rowOf(queue)).layouts]);
    expect(new Set(layouts).size).toBe(4);
    for (const [i, queue] of queues.entries()) {
      const whole = post(host, 1, rowOf([...queue].reverse()));
      const cut = post(host, 2, rowOf(queue.slice(30)));
      expect([whole.isPartial, cut.isPartial]).toEqual([false, true]);
      for (const posted of [whole, cut]) expect([...posted.layouts]).toEqual([layouts[i]]);
    }
  });

  test('have layouts for each queue hours after their sender got more queues', () => {
    const host = newHost();
    const random = new Random(2);
    for (let i = 0; i < 20; i++) post(host, i, rowOf(names(400).filter(() => random.chance(0.7))));
    const queues = queuesOf(400, 4);
    for (const [i, queue] of queues.entries())
      expect(post(host, UNION_MS + 1 + i, rowOf(queue)).isPartial).toBe(false);
  });

  test('that are a small part of their source have its layout too, up to a bound of a request', () => {
    const source = sourceOf.host(newHost());
    const long = names(250).map(
      (name) => `${name}.${[1, 2, 3, 4].map((i) => hash('sha1', `${name}${i}`)).join('')}`,
    );
    const rows = [long.slice(0, 200), long.slice(0, 250), ...long.map((name) => [name])];
    for (const names of rows.slice(0, 2)) post(source[0]![1], 0, rowOf(names));
    const layouts = post(source[0]![1], 1, rowOf(rows[2]!)).layouts;
    expect(layouts).toEqual(post(source[0]![1], 2, rowOf(rows[1]!)).layouts);

    const many = Array.from({ length: 80 }, (_, i): SourceRows => {
      const other = sourceOf.host(newHost());
      for (const names of rows.slice(0, 2)) post(other[0]![1], 0, rowOf(names));
      return rowsOf(dictionary, other, new Map([[i, rowOf([long[0]!])]]));
    });
    const bytes = rowRecords(tenant, many).reduce((sum, { data }) => sum + data.length, 0);
    expect(bytes).toBeGreaterThan(500_000);
    expect(bytes).toBeLessThan(1_200_000);
  });
});
