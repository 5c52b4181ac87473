import { ByteWriter } from '../../../shared/model/bytes';
import { MAX_SOURCES } from '../../../shared/protocol/body-bounds';
import { MAX_OBJECTS } from '../../../shared/protocol/otlp/metrics';
import {
  MAX_WRITE_REQUEST_SAMPLES,
  MAX_WRITE_REQUEST_SERIES,
} from '../../../shared/protocol/prometheus/write-request';

/** The time at which the bodies are taken. Samples of this time are accepted. */
export const HOSTILE_NOW_MS = 1_795_212_120_000;
const NOW_NS = BigInt(HOSTILE_NOW_MS) * 1_000_000n;

export type Encoding = 'remote-write 1.0' | 'remote-write 2.0' | 'otlp' | 'otlp json' | 'lines';

export interface HostileBody {
  readonly name: string;
  readonly encoding: Encoding;
  /** @param size approximate size in bytes */
  make(size: number): Uint8Array;
}

const field = (number: number, body: Uint8Array): Buffer => {
  const head = new ByteWriter(16).uvarint(number * 8 + 2).uvarint(body.length);
  return Buffer.concat([head.finish(), body]);
};
const text = (number: number, value: string) => field(number, Buffer.from(value));
const varint = (number: number, value: number) =>
  new ByteWriter(16)
    .uvarint(number * 8)
    .uvarint(value)
    .finish();
const fixed64 = (number: number, value: bigint) => {
  const bytes = Buffer.alloc(9);
  bytes[0] = number * 8 + 1;
  bytes.writeBigUInt64LE(value, 1);
  return bytes;
};
const all = (...parts: Uint8Array[]) => Buffer.concat(parts);

/**
 * Maximum number of series, samples and objects in one request. A body with one more is rejected before it costs
 * anything. `objects` leaves room for the metric and the resource that enclose points.
 */
const MOST = {
  series: MAX_WRITE_REQUEST_SERIES,
  samples: MAX_WRITE_REQUEST_SAMPLES,
  objects: MAX_OBJECTS - 2,
};

/** Repeats what `make` returns until it has `size` bytes, or `most` of them. */
function repeat(size: number, make: (i: number) => Uint8Array, most = Infinity): Buffer {
  const parts: Uint8Array[] = [];
  for (let i = 0, bytes = 0; bytes < size && i < most; i++) {
    const part = make(i);
    bytes += part.length;
    if (bytes <= size) parts.push(part);
  }
  return Buffer.concat(parts);
}

const label = (name: string, value: string) => field(1, all(text(1, name), text(2, value)));
const sample = (timestamp = HOSTILE_NOW_MS) => field(2, varint(2, timestamp));
const ago = (i: number) => HOSTILE_NOW_MS - (i % 80_000_000);
const timeSeries = (labels: Uint8Array, samples: Uint8Array = sample()) => field(1, all(labels, samples));
const named = (name: string) => label('__name__', name);

const V1: Record<string, (size: number) => Uint8Array> = {
  'one series, each sample at another time': (size) =>
    timeSeries(
      named('m'),
      repeat(size, (i) => sample(ago(i)), MOST.samples),
    ),
  'one series, all samples at one time': (size) =>
    timeSeries(
      named('m'),
      repeat(size, () => sample(), MOST.samples),
    ),
  'one series of 4 KB, all samples at one time': (size) =>
    timeSeries(
      all(named('m'), label('a', 'x'.repeat(4_000))),
      repeat(size, () => sample(), MOST.samples),
    ),
  'empty samples': (size) =>
    timeSeries(
      named('m'),
      repeat(size, () => field(2, Buffer.alloc(0))),
    ),
  'empty series': (size) => repeat(size, () => field(1, Buffer.alloc(0))),
  'each sample of another series of one source': (size) =>
    repeat(size, (i) => timeSeries(named(`m${i}`)), MOST.series),
  'each sample of another source and time': (size) =>
    repeat(size, (i) => timeSeries(all(named('m'), label('job', `${i}`)), sample(ago(i))), MOST.series),
  'each time with another two of 64 series of 4 KB': (size) =>
    repeat(size / 32, (i) =>
      timeSeries(all(named('m'), label('a', `${(i * 7) % 64}`.padEnd(4_000, 'x'))), sample(ago(i >> 1))),
    ),
  'all series of 256 labels': (size) =>
    repeat(size, (i) =>
      timeSeries(all(named(`m${i}`), ...Array.from({ length: 255 }, (_, l) => label(l.toString(36), 'v')))),
    ),
  'a series of as many labels as fit': (size) => timeSeries(repeat(size - 50, (l) => label(`l${l}`, 'v'))),
  'series of 80 labels, two of one name': (size) =>
    repeat(size, (i) =>
      timeSeries(all(label('a', `${i}`), ...Array.from({ length: 79 }, () => label('a', 'b')))),
    ),
  'labels and samples in turns': (size) =>
    repeat(
      size,
      (i) => field(1, all(sample(), named(`m${i}`), sample(), label('a', 'b'), sample())),
      Math.floor(MOST.samples / 3),
    ),
  'empty metadata': (size) => repeat(size, () => field(3, Buffer.alloc(0))),
  'metadata of a long help': (size) => field(3, all(text(2, 'm'), text(4, 'h'.repeat(size)))),
  'invalid UTF-8': (size) =>
    repeat(
      size,
      () => timeSeries(field(1, all(text(1, 'a'), field(2, Buffer.alloc(40, 0xff))))),
      MOST.series,
    ),
  'times in seconds': (size) =>
    repeat(size, (i) => timeSeries(named(`m${i}`), sample(HOSTILE_NOW_MS / 1000)), MOST.series),
  'times in nanoseconds': (size) =>
    repeat(size, (i) => timeSeries(named(`m${i}`), sample(HOSTILE_NOW_MS * 1000)), MOST.series),
};

const symbolsOf = (texts: readonly string[]) => Buffer.concat(texts.map((each) => text(4, each)));
const refs = (...indexes: number[]) =>
  field(1, indexes.reduce((writer, index) => writer.uvarint(index), new ByteWriter(64)).finish());
const series2 = (labels: Uint8Array, samples: Uint8Array = sample()) => field(5, all(labels, samples));

const V2: Record<string, (size: number) => Uint8Array> = {
  'empty symbols': (size) => repeat(size, () => field(4, Buffer.alloc(0))),
  'all series of 255 labels of 4 KB together, another one in each': (size) =>
    all(
      symbolsOf(['', '__name__', ...Array.from({ length: 254 }, (_, i) => `l${i}`), 'v'.repeat(12)]),
      repeat(size, (i) =>
        series2(
          refs(
            1,
            2 + (i % 250),
            ...Array.from({ length: 254 }, (_, l) => [l + 2, l === i % 254 ? 2 : 256]).flat(),
          ),
          sample(ago(i)),
        ),
      ),
    ),
  'all series of one 4 KB symbol, another name in each': (size) =>
    all(
      symbolsOf([
        '',
        '__name__',
        'a',
        'x'.repeat(4_000),
        ...Array.from({ length: 20_000 }, (_, i) => `m${i}`),
      ]),
      repeat(size / 2, (i) => series2(refs(1, 4 + (i % 20_000), 2, 3)), MOST.series),
    ),
  'references out of range': (size) => repeat(size, (i) => series2(refs(1, 1000 + i)), MOST.series),
  'an odd number of references': (size) => repeat(size, () => series2(refs(0)), MOST.series),
  'metadata in each series': (size) =>
    all(
      symbolsOf(['', '__name__', 'm']),
      repeat(size, () => field(5, all(refs(1, 2), field(5, varint(1, 1)))), MOST.series),
    ),
};

const attribute = (number: number, key: string, value: string) =>
  field(number, all(text(1, key), field(2, text(1, value))));
const request = (metrics: Uint8Array, resource: Uint8Array = attribute(1, 'service.name', 's')) =>
  field(1, all(field(1, resource), field(2, metrics)));
const gauge = (points: Uint8Array, name = 'm') => field(2, all(text(1, name), field(5, points)));
const nsAgo = (i: number) => fixed64(3, NOW_NS - BigInt(i % 80_000_000) * 1_000_000n);
const cumulative = varint(2, 2);

const histogram = (
  buckets: number,
  bound: (i: number) => number,
  attributes: Uint8Array = Buffer.alloc(0),
) => {
  const bounds = Buffer.from(Float64Array.from({ length: buckets }, (_, i) => bound(i)).buffer);
  const point = all(attributes, nsAgo(0), field(6, Buffer.alloc(8 * buckets + 8)), field(7, bounds));
  return request(field(2, all(text(1, 'h'), field(9, all(field(1, point), cumulative)))));
};
/** Histograms with 1,024 buckets each. `bound` receives the number of a bucket, counted over all histograms. */
const histograms = (size: number, bound: (i: number) => number, attributes?: Uint8Array) =>
  repeat(size, (n) => histogram(1_024, (i) => bound(1_024 * n + i), attributes));

const OTLP: Record<string, (size: number) => Uint8Array> = {
  'each point at another time': (size) =>
    request(gauge(repeat(size, (i) => field(1, nsAgo(i)), MOST.objects))),
  'empty points': (size) => request(gauge(repeat(size, () => field(1, Buffer.alloc(0))))),
  'empty metrics': (size) => request(repeat(size, () => field(2, Buffer.alloc(0)))),
  'empty resources': (size) => repeat(size, () => field(1, Buffer.alloc(0))),
  'each metric of another name': (size) =>
    request(repeat(size, (i) => gauge(field(1, nsAgo(0)), `m${i}`), MOST.objects / 2)),
  'each resource another': (size) =>
    repeat(
      size,
      (i) =>
        request(
          gauge(field(1, nsAgo(0))),
          all(attribute(1, 'service.name', `s${i}`), attribute(1, 'a', 'b')),
        ),
      MOST.objects / 3,
    ),
  'each point of other attributes': (size) =>
    request(gauge(repeat(size, (i) => field(1, all(attribute(7, 'a', `${i}`), nsAgo(0))), MOST.objects))),
  'a point of 100,000 attributes': (size) =>
    request(
      gauge(
        field(
          1,
          all(
            repeat(size, (i) => attribute(7, `a${i % 100_000}`, 'v')),
            nsAgo(0),
          ),
        ),
      ),
    ),
  'histograms of 1,024 buckets, with attributes of 4 KB': (size) =>
    histograms(size, (i) => i, attribute(9, 'a', 'x'.repeat(3_900))),
  'histograms of bounds near 0, which are long as text': (size) => histograms(size, (i) => 1e-300 * (i + 1)),
  'a histogram of ever more buckets': (size) => histogram(Math.floor(size / 16), (i) => i),
  'summaries of empty quantiles': (size) =>
    request(
      field(
        2,
        all(
          text(1, 's'),
          field(
            11,
            field(
              1,
              all(
                nsAgo(0),
                repeat(size, () => field(6, Buffer.alloc(0))),
              ),
            ),
          ),
        ),
      ),
    ),
  'exponential histograms': (size) =>
    request(
      field(
        2,
        all(
          text(1, 'e'),
          field(
            10,
            repeat(size, () => field(1, Buffer.alloc(0))),
          ),
        ),
      ),
    ),
  'an attribute that is nested as deep as it goes': (size) => {
    let value: Buffer = text(1, 'x');
    while (value.length < Math.min(size, 20_000)) value = field(5, field(1, value));
    return request(gauge(field(1, all(field(7, all(text(1, 'a'), field(2, value))), nsAgo(0)))));
  },
  'a long description': (size) =>
    request(field(2, all(text(1, 'm'), text(2, 'd'.repeat(size)), field(5, field(1, nsAgo(0)))))),
};

const JSON_NOW = `"timeUnixNano":"${NOW_NS}"`;
const jsonMetrics = (metrics: string) =>
  `{"resourceMetrics":[{"resource":{"attributes":[]},"scopeMetrics":[{"metrics":[${metrics}]}]}]}`;
const json = (dataPoints: string) => jsonMetrics(`{"name":"m","gauge":{"dataPoints":[${dataPoints}]}}`);
const list = (size: number, make: (i: number) => string, most = Infinity) => {
  const parts: string[] = [];
  for (let i = 0, bytes = 0; bytes < size && i < most; i++) {
    const part = make(i);
    bytes += part.length + 1;
    if (bytes <= size) parts.push(part);
  }
  return parts.join(',');
};

const JSON_BODIES: Record<string, (size: number) => string> = {
  'each point at another time': (size) =>
    json(list(size, (i) => `{"asInt":1,"timeUnixNano":"${NOW_NS - BigInt(i) * 1_000_000n}"}`)),
  'empty points': (size) => json(list(size, () => '{}')),
  'each point of other attributes': (size) =>
    json(
      list(
        size,
        (i) =>
          `{"asInt":1,"timeUnixNano":"${NOW_NS}","attributes":[{"key":"a","value":{"stringValue":"${i}"}}]}`,
      ),
    ),
  'as many points of no value as are allowed': (size) => json(list(size, () => '{}', 199_000)),
  'each metric of another name': (size) =>
    jsonMetrics(list(size, (i) => `{"name":"m${i}","gauge":{"dataPoints":[{"asInt":1,${JSON_NOW}}]}}`)),
  'each resource another': (size) =>
    `{"resourceMetrics":[${list(
      size,
      (i) =>
        `{"resource":{"attributes":[{"key":"a","value":{"stringValue":"${i}"}}]},"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asInt":1,${JSON_NOW}}]}}]}]}`,
    )}]}`,
  'histograms of 1,024 buckets, as many as are allowed': (size) =>
    jsonMetrics(
      list(
        size,
        (i) =>
          `{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[{${JSON_NOW},"bucketCounts":[${Array(1_025).fill(0)}],"explicitBounds":[${Array.from({ length: 1_024 }, (_, b) => 1_024 * i + b)}]}]}}`,
        190,
      ),
    ),
  'summaries of 1,000 empty quantiles, as many as are allowed': (size) =>
    jsonMetrics(
      list(
        size,
        () =>
          `{"name":"s","summary":{"dataPoints":[{${JSON_NOW},"quantileValues":[${Array(1_000).fill('{}')}]}]}}`,
        195,
      ),
    ),
  'arrays nested as deep as they go': (size) => {
    const depth = Math.floor(Math.min(size, 250_000) / 2) - 200;
    return json(
      `{"timeUnixNano":"${NOW_NS}","attributes":[{"key":"a","value":${'['.repeat(depth)}${']'.repeat(depth)}}]}`,
    );
  },
};

const lines = (size: number, make: (i: number) => string, most = Infinity) =>
  repeat(size, (i) => Buffer.from(`${make(i)}\n`), most);
const fields = (count: number, make: (f: number) => string) =>
  Array.from({ length: count }, (_, f) => `${make(f)}=1`).join(',');

const LINES: Record<string, (size: number) => Uint8Array> = {
  'each line of another host': (size) =>
    lines(size, (i) => `m,host=h${i} v=1 ${HOSTILE_NOW_MS}`, MAX_SOURCES),
  'each line of another device': (size) =>
    lines(size, (i) => `m,device=d${i} v=1 ${HOSTILE_NOW_MS}`, MAX_SOURCES),
  'devices of four series, each line of another time': (size) =>
    lines(size, (i) => `m${i % 4},device=d${(i >> 2) % 1_000} v=1 ${HOSTILE_NOW_MS - i}`),
  'devices with tags of 3.9 KB': (size) =>
    lines(size, (i) => `m,device=d${i},x=${'x'.repeat(3_900)} a=1,b=1,c=1,d=1 ${HOSTILE_NOW_MS}`),
  'each line of another time': (size) => lines(size, (i) => `m,host=h v=1 ${HOSTILE_NOW_MS - i}`),
  'each line of another measurement': (size) =>
    lines(size, (i) => `m${i},host=h v=1 ${HOSTILE_NOW_MS}`, 65_536),
  'each line of another measurement and time': (size) =>
    lines(size, (i) => `m${i},host=h v=1 ${HOSTILE_NOW_MS - i}`, 65_536),
  'each line of another field': (size) => lines(size, (i) => `m,host=h f${i}=1 ${HOSTILE_NOW_MS}`, 65_536),
  'one line of all fields': (size) =>
    lines(size, () => `m,host=h ${fields(Math.min(60_000, size >> 4), (f) => `f${f}`)} ${HOSTILE_NOW_MS}`),
  'lines of 300 fields that no other has': (size) =>
    lines(size, (i) => `m,host=h${i % 16} ${fields(300, (f) => `f${i}_${f}`)} ${HOSTILE_NOW_MS - i}`),
  'lines of 300 fields out of 3,000 each time others': (size) =>
    lines(
      size,
      (i) => `m,host=h ${fields(300, (f) => `f${(f * 10 + ((i * f) % 10)) % 3_000}`)} ${HOSTILE_NOW_MS - i}`,
    ),
  'tags of 3.9 KB with fields that no other line has': (size) =>
    lines(
      size,
      (i) => `m,host=h,x=${'x'.repeat(3_900)} ${fields(400, (f) => `f${i}_${f}`)} ${HOSTILE_NOW_MS}`,
    ),
};

const bodiesOf = (encoding: Encoding, bodies: Record<string, (size: number) => Uint8Array | string>) =>
  Object.entries(bodies).map(([name, make]): HostileBody => {
    return { name, encoding, make: (size) => Buffer.from(make(size)) };
  });

/** Bodies that are meant to cost far more than their bytes. */
export const HOSTILE_BODIES: readonly HostileBody[] = [
  ...bodiesOf('remote-write 1.0', V1),
  ...bodiesOf('remote-write 2.0', V2),
  ...bodiesOf('otlp', OTLP),
  ...bodiesOf('otlp json', JSON_BODIES),
  ...bodiesOf('lines', LINES),
];
