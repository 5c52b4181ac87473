import { SeriesDictionaries } from '../../../shared/dictionary/dictionaries';
import type { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { labelsKey } from '../../../shared/model/labels';
import { decodeLayout } from '../../../shared/model/layout';
import { unpackLayout } from '../../../shared/model/packed-layout';
import { tenantIdOf } from '../../../shared/model/placement';
import { influxLines } from '../../../shared/protocol/influx/lines';
import { rowsOf } from '../../../shared/protocol/mackerel/json';
import { remoteWrite } from '../../../shared/protocol/prometheus/remote-write';
import { decodeRecord } from '../../../shared/stream/record-decoder';
import { rowRecords } from '../../../shared/stream/row-records';
import { encodeV2 } from '../protocol/prometheus/messages';

const NOW = 1_795_212_100_000;
const ACCEPTS = { nowMs: NOW, maxAgeMs: 86_400_000 };
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 4 }] },
};

const dictionariesOf = (bytes: number) => new SeriesDictionaries({ name: 'series', bytes });

/** Posts a sample from each of `hosts` new hosts, which have one series each. */
function fill(dictionary: SeriesDictionary, prefix: string, hosts: number): void {
  for (let i = 0; i < hosts; i++)
    rowsOf(dictionary, [['host', `${prefix}${i}`]], new Map([[NOW, new Map([['cpu', i]])]]));
}

test("a tenant's dictionary is kept between requests while there is room", () => {
  const dictionaries = dictionariesOf(2_000_000);
  const dictionary = dictionaries.of('a');
  fill(dictionary, 'h', 100);
  expect(dictionaries.of('a')).toBe(dictionary);
  expect(dictionaries.bytes).toBe(dictionary.bytes);
});

test('to make room, the largest dictionary is dropped: a tenant with few series loses none', () => {
  const dictionaries = dictionariesOf(2_000_000);
  const small = dictionaries.of('small');
  fill(small, 'h', 100);
  for (let request = 0; request < 50; request++) {
    fill(dictionaries.of('hostile'), `${request}-`, 1_000);
    expect(dictionaries.of('small')).toBe(small);
    expect(dictionaries.bytes).toBeLessThan(3_000_000);
  }
});

test('a request that adds more than there is room for keeps its dictionary to its end', () => {
  const dictionaries = dictionariesOf(100_000);
  const dictionary = dictionaries.of('a');
  fill(dictionary, 'h', 1_000);
  expect(dictionary.size).toBe(1_000);
  expect(dictionaries.of('a')).not.toBe(dictionary);
  // Series that a forgotten dictionary still adds are no longer counted.
  const { bytes } = dictionaries;
  fill(dictionary, 'more', 1_000);
  expect(dictionaries.bytes).toBe(bytes);
});

test('tables of symbols count: many tenants of ever new names stay within the budget', () => {
  const dictionaries = dictionariesOf(5_000_000);
  for (let request = 0; request < 60; request++) {
    const series = Array.from({ length: 300 }, (_, i) => ({
      labels: [
        ['__name__', `${'n'.repeat(100)}_${request}_${i}`],
        ['job', `${'j'.repeat(100)}_${i}`],
      ] as [string, string][],
      samples: [{ timestamp: NOW, value: i }],
    }));
    remoteWrite.parse(dictionaries.of(`t${request % 20}`), encodeV2(series), ACCEPTS, { version: 2 });
    expect(dictionaries.bytes).toBeLessThan(6_000_000);
  }
});

test('a request whose dictionary is forgotten midway writes its own series', () => {
  const dictionaries = dictionariesOf(50_000);
  const values = new Map<string, number>();
  const body = Array.from({ length: 300 }, (_, i) => {
    values.set(
      labelsKey([
        ['__name__', `cpu_f${i % 7}`],
        ['host', `h${i % 30}`],
      ]),
      i,
    );
    return `cpu,host=h${i % 30} f${i % 7}=${i} ${NOW}`;
  });
  const parsed = influxLines.parse(dictionaries.of(tenant.id), Buffer.from(body.join('\n')), ACCEPTS, {
    precision: 'ms',
  });
  // Other requests add series while this one looks up its pools.
  fill(dictionaries.of(tenant.id), 'other', 2_000);
  fill(dictionaries.of(tenant.id), 'another', 2_000);
  expect(dictionaries.of(tenant.id)).not.toBe(parsed.sources[0]![0].dictionary);
  const stored = new Map<string, number>();
  for (const { data } of rowRecords(tenant, parsed.sources))
    for (const { layout, frames } of decodeRecord(data).groups) {
      const { series } = decodeLayout(unpackLayout(layout.packed));
      for (const { values } of frames)
        for (const [i, labels] of series.entries())
          stored.set(labelsKey(labels), Buffer.from(values).readDoubleLE(8 * i));
    }
  expect(stored).toEqual(values);
});
