import { ENCODINGS } from '../../../scripts/soak/encodings';
import { presentSeries } from '../../../shared/codec';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import type { SourceRows } from '../../../shared/dictionary/series-source';
import { type Labels, labelsKey, labelsOf, METRIC_NAME, sourceOf } from '../../../shared/model/labels';
import { decodeLayout } from '../../../shared/model/layout';
import { unpackLayout } from '../../../shared/model/packed-layout';
import { tenantIdOf } from '../../../shared/model/placement';
import { influxLines } from '../../../shared/protocol/influx/lines';
import { rowsOf } from '../../../shared/protocol/mackerel/json';
import { otlpMetrics } from '../../../shared/protocol/otlp/otlp';
import { decodeMetrics } from '../../../shared/protocol/otlp/protobuf';
import { decodeRecord } from '../../../shared/stream/record-decoder';
import { rowRecords } from '../../../shared/stream/row-records';

const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 4 }] },
};
const TIME = 1_795_212_100;
const ACCEPTS = { nowMs: TIME * 1000, maxAgeMs: 3_600_000 };

const dictionary = new SeriesDictionary(tenant.id);
const parsed = {
  lines: (body: Buffer) => influxLines.parse(dictionary, body, ACCEPTS, { precision: 's' }),
  otlpProtobuf: (body: Buffer) => otlpMetrics.parse(dictionary, decodeMetrics(body), ACCEPTS, undefined),
};

/** The samples of rows as they are in the stream, by {@link labelsKey}. */
function storedOf(sources: readonly SourceRows[]): Map<string, number> {
  const samples = new Map<string, number>();
  for (const { data } of rowRecords(tenant as never, sources))
    for (const { layout, frames } of decodeRecord(data).groups) {
      const { series } = decodeLayout(unpackLayout(layout.packed));
      for (const { presence, values } of frames) {
        const bytes = Buffer.from(values);
        const present = presence === undefined ? [...series.keys()] : presentSeries(presence);
        for (const [i, column] of present.entries())
          samples.set(labelsKey(series[column]!), bytes.readDoubleLE(8 * i));
      }
    }
  return samples;
}

const metric = (host: string, name: string): Labels => labelsOf([METRIC_NAME, name], ['host', host]);
const rowOf = (host: string, names: readonly string[], first: number) =>
  new Map(names.map((name, i) => [metric(host, name), first + i]));
const expectedOf = (row: ReadonlyMap<Labels, number>) =>
  new Map(Array.from(row, ([labels, value]) => [labelsKey(labels), value]));

function post(protocol: keyof typeof parsed, row: ReadonlyMap<Labels, number>): Map<string, number> {
  const samples = Array.from(row, ([labels, value]) => ({ labels, time: TIME, value }));
  const { sources } = parsed[protocol](Buffer.from(ENCODINGS[protocol](samples).body));
  return storedOf(sources);
}

describe('series of one source that several protocols post', () => {
  test('keep their columns, however many heads of lines and lists of series there are', () => {
    const first = rowOf('mixed', ['otel_a', 'otel_b', 'otel_c'], 1);
    expect(post('otlpProtobuf', first)).toEqual(expectedOf(first));
    // In an earlier release, heads and lists were numbered separately, so head 756 and the first list had the same
    // name.
    for (let i = 0; i < 800; i++) {
      const row = rowOf(i < 750 ? `other${i}` : 'mixed', [`m${i}_x`, `m${i}_y`], 100 + i);
      expect(post('lines', row)).toEqual(expectedOf(row));
    }
  });

  test('keep their columns where a metric of Mackerel has a name like those that post makes', () => {
    const host = 'named';
    const first = rowOf(host, ['otel_a'], 1);
    const second = rowOf(host, ['cpu_x'], 2);
    expect(post('otlpProtobuf', first)).toEqual(expectedOf(first));
    expect(post('lines', second)).toEqual(expectedOf(second));
    const made = ['l', 'p', ''].flatMap((prefix) =>
      Array.from({ length: 1_000 }, (_, i) => [`${prefix}${i}`, `${prefix}${i.toString(36)}`]).flat(),
    );
    for (const name of new Set(made)) {
      const source = sourceOf.host(host);
      const rows = rowsOf(dictionary, source, new Map([[ACCEPTS.nowMs, new Map([[name, 7]])]]));
      expect(storedOf([rows])).toEqual(new Map([[labelsKey(metric(host, name)), 7]]));
    }
  });
});
