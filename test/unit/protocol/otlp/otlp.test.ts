import fc from 'fast-check';
import protobuf from 'protobufjs';
import { SeriesDictionary } from '../../../../shared/dictionary/series-dictionary';
import { MalformedBytesError } from '../../../../shared/model/bytes';
import { labelValue, METRIC_NAME } from '../../../../shared/model/labels';
import { checkLayout } from '../../../../shared/model/layout-bytes';
import { unpackLayout } from '../../../../shared/model/packed-layout';
import { tenantIdOf } from '../../../../shared/model/placement';
import { MAX_SERIES_SETS } from '../../../../shared/protocol/body-bounds';
import { countPoints } from '../../../../shared/protocol/otlp/count-points';
import { InvalidMetricsJsonError, readMetricsJson } from '../../../../shared/protocol/otlp/json';
import { MAX_DEPTH } from '../../../../shared/protocol/otlp/metrics';
import { otlpMetrics } from '../../../../shared/protocol/otlp/otlp';
import { decodeMetrics, encodePartialSuccess } from '../../../../shared/protocol/otlp/protobuf';
import { decodeRecord } from '../../../../shared/stream/record-decoder';
import { rowRecords } from '../../../../shared/stream/row-records';
import { MetricsRequest } from './messages';

const NOW_MS = 1_795_212_120_000;
const timeUnixNano = String(BigInt(NOW_MS) * 1_000_000n);
const ACCEPTS = { nowMs: NOW_MS, maxAgeMs: 86_400_000 };
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 16 }] },
};
const dictionary = new SeriesDictionary(tenant.id);
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const SHOP = [
  text('service.name', 'shop'),
  text('service.namespace', 'eu'),
  text('service.instance.id', 'i-1'),
];

const request = (metrics: object[], attributes: object[] = SHOP) => ({
  resourceMetrics: [{ resource: { attributes }, scopeMetrics: [{ metrics }] }],
});

/** Each sample as `name{labels} value`, once from protobuf and once from JSON, which must agree. */
function samplesOf(body: object) {
  const bytes = MetricsRequest.encode(MetricsRequest.fromObject(body)).finish();
  const fromProtobuf = flat(otlpMetrics.parse(dictionary, decodeMetrics(bytes), ACCEPTS, undefined));
  const fromJson = flat(otlpMetrics.parse(dictionary, readMetricsJson(body), ACCEPTS, undefined));
  expect(fromJson).toEqual(fromProtobuf);
  return fromProtobuf;
}

function flat({ sources, dropped }: ReturnType<typeof otlpMetrics.parse>) {
  const samples = sources.flatMap(([, rows]) =>
    rows.flatMap(({ series, values }) =>
      Array.from(series, (each, i) => {
        const labels = dictionary.labelsOf(each);
        const pairs = labels
          .filter(([name]) => name !== METRIC_NAME)
          .map(([name, value]) => `${name}=${value}`);
        return `${labelValue(labels, METRIC_NAME)}{${pairs.join(',')}} ${numberOf(values[i]!)}`;
      }),
    ),
  );
  return { samples: samples.sort(), rejected: dropped.rejected, reasons: dropped.reasons };
}

function numberOf(bits: bigint): string {
  if (bits === 0x7ff0000000000002n) return 'stale';
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, bits);
  return String(view.getFloat64(0));
}

const TARGET = 'instance=i-1,job=eu/shop';

test('a gauge is a sample with its attributes as labels, in addition to job and instance', () => {
  const point = { timeUnixNano, asDouble: 1.5, attributes: [text('http.method', 'GET')] };
  expect(samplesOf(request([{ name: 'temp', unit: 'Cel', gauge: { dataPoints: [point] } }]))).toEqual({
    samples: [`temp_celsius{http_method=GET,${TARGET}} 1.5`],
    rejected: 0,
    reasons: [],
  });
});

test('exemplars are left out and counted, and their points kept', () => {
  const exemplars = [{ asDouble: 1 }, { asDouble: 2 }];
  const latency = { timeUnixNano, count: 1, bucketCounts: [1], exemplars };
  const metrics = [
    { name: 'a', gauge: { dataPoints: [{ timeUnixNano, asDouble: 1, exemplars }] } },
    { name: 'b', histogram: { aggregationTemporality: 2, dataPoints: [latency] } },
  ];
  expect(samplesOf(request(metrics))).toEqual({
    samples: [`a{${TARGET}} 1`, `b_bucket{${TARGET},le=+Inf} 1`, `b_count{${TARGET}} 1`],
    rejected: 0,
    reasons: ['4 exemplars were dropped: exemplars are not stored'],
  });
});

test('a histogram is its classic series, with running sums', () => {
  const point = { timeUnixNano, count: 6, sum: 9.5, bucketCounts: [1, 2, 3], explicitBounds: [0.5, 10] };
  const histogram = { aggregationTemporality: 2, dataPoints: [point] };
  expect(samplesOf(request([{ name: 'latency', unit: 's', histogram }])).samples).toEqual([
    `latency_seconds_bucket{${TARGET},le=+Inf} 6`,
    `latency_seconds_bucket{${TARGET},le=0.5} 1`,
    `latency_seconds_bucket{${TARGET},le=10} 3`,
    `latency_seconds_count{${TARGET}} 6`,
    `latency_seconds_sum{${TARGET}} 9.5`,
  ]);
});

test('a summary is its quantiles, sum and count', () => {
  const quantileValues = [{ quantile: 0.99, value: 3 }];
  const summary = { dataPoints: [{ timeUnixNano, count: 2, sum: 4, quantileValues }] };
  expect(samplesOf(request([{ name: 'rpc', summary }])).samples).toEqual([
    `rpc_count{${TARGET}} 2`,
    `rpc_sum{${TARGET}} 4`,
    `rpc{${TARGET},quantile=0.99} 3`,
  ]);
});

test('a point without a recorded value makes its series stale', () => {
  const gauge = { dataPoints: [{ timeUnixNano, flags: 1 }] };
  expect(samplesOf(request([{ name: 'temp', gauge }])).samples).toEqual([`temp{${TARGET}} stale`]);
});

test('the other attributes of a resource are labels of target_info', () => {
  const gauge = { dataPoints: [{ timeUnixNano, asInt: 1 }] };
  const resource = [...SHOP, text('host.name', 'web1')];
  expect(samplesOf(request([{ name: 'a', gauge }], resource)).samples).toEqual([
    `a{${TARGET}} 1`,
    `target_info{host_name=web1,${TARGET}} 1`,
  ]);
});

test('attributes of every type are text, and colliding names are joined', () => {
  const attributes = [
    { key: 'a.b', value: { intValue: 1 } },
    { key: 'a_b', value: { boolValue: true } },
    { key: 'list', value: { arrayValue: { values: [{ stringValue: 'x' }, { doubleValue: 0.5 }] } } },
    { key: 'map', value: { kvlistValue: { values: [text('k', 'v')] } } },
    { key: 'bytes', value: { bytesValue: 'AAE=' } },
    text('empty', ''),
    text('__name__', 'ignored'),
  ];
  const gauge = { dataPoints: [{ timeUnixNano, asInt: 1, attributes }] };
  expect(samplesOf(request([{ name: 'm', gauge }])).samples).toEqual([
    `m{a_b=1;true,bytes=AAE=,${TARGET},list=["x",0.5],map={"k":"v"}} 1`,
  ]);
});

test('half of a surrogate pair in JSON becomes U+FFFD, and series that differ in no more are one', () => {
  const point = (key: string, half: string) => ({
    timeUnixNano,
    asInt: 1,
    attributes: [
      text('cut', half),
      text(key, 'x'),
      { key: 'list', value: { arrayValue: { values: [{ stringValue: half }] } } },
    ],
  });
  const gauge = { dataPoints: [point('k\ud800', '\ud800'), point('k\udfff', '\udfff'), point('k', '😀')] };
  const metric = { name: 'm', description: 'cut \ud83d', unit: '\ud83d', gauge };
  // The name differs from other tests', because the dictionary keeps what it learned of a source.
  const body = request(
    [metric],
    [...SHOP, text('service.instance.id', 'cut \ud83d'), text('os\ud83d', '\ud83d')],
  );
  const parsed = otlpMetrics.parse(
    dictionary,
    readMetricsJson(JSON.parse(JSON.stringify(body))),
    ACCEPTS,
    undefined,
  );
  const target = 'instance=cut \ufffd,job=eu/shop';
  expect(flat(parsed)).toEqual({
    samples: [
      `m{cut=😀,${target},k=x,list=["😀"]} 1`,
      `m{cut=\ufffd,${target},k_=x,list=["\ufffd"]} 1`,
      `m{cut=\ufffd,${target},k_=x,list=["\ufffd"]} 1`,
      `target_info{${target},os_=\ufffd} 1`,
    ],
    rejected: 0,
    reasons: [],
  });
  expect(parsed.dropped.metadata).toMatchObject([{ help: 'cut \ufffd', unit: '\ufffd' }]);
  const stored = rowRecords(tenant, parsed.sources).flatMap(({ data }) =>
    decodeRecord(data).groups.map(({ layout }) => checkLayout(unpackLayout(layout.packed)).length),
  );
  expect(stored).toEqual([3]);
});

function histogramOf(point: object) {
  return { name: 'm', histogram: { aggregationTemporality: 2, dataPoints: [{ timeUnixNano, ...point }] } };
}

function summaryOf(...quantiles: (number | string)[]) {
  const quantileValues = quantiles.map((quantile, value) => ({ quantile, value }));
  return { name: 'm', summary: { dataPoints: [{ timeUnixNano, count: 3, sum: 4, quantileValues }] } };
}

test('integers beyond 2^53 in attributes keep every digit, so that their series stay apart', () => {
  const point = (intValue: string) => ({
    timeUnixNano,
    asInt: 1,
    attributes: [
      { key: 'id', value: { intValue } },
      { key: 'list', value: { arrayValue: { values: [{ intValue }] } } },
    ],
  });
  const ids = ['9007199254740992', '9007199254740993', '-9223372036854775808', '7'];
  expect(samplesOf(request([{ name: 'm', gauge: { dataPoints: ids.map(point) } }])).samples).toEqual([
    `m{id=-9223372036854775808,${TARGET},list=["-9223372036854775808"]} 1`,
    `m{id=7,${TARGET},list=[7]} 1`,
    `m{id=9007199254740992,${TARGET},list=["9007199254740992"]} 1`,
    `m{id=9007199254740993,${TARGET},list=["9007199254740993"]} 1`,
  ]);
});

test.each([2 ** 53, -(2 ** 53)])(
  'the JSON number %d in an attribute rejects its point, since JSON may have rounded it',
  (intValue) => {
    const point = { timeUnixNano, asInt: 1, attributes: [{ key: 'id', value: { intValue } }] };
    const json = request([{ name: 'm', gauge: { dataPoints: [point, { timeUnixNano, asInt: 2 }] } }]);
    expect(flat(otlpMetrics.parse(dictionary, readMetricsJson(json), ACCEPTS, undefined))).toEqual({
      samples: [`m{${TARGET}} 2`],
      rejected: 1,
      reasons: [`m: intValue: expected a string for an integer beyond 2^53, got ${intValue}`],
    });
  },
);

test('a stale histogram with bounds and without counts makes the series of its buckets stale', () => {
  const { samples, rejected } = samplesOf(request([histogramOf({ flags: 1, explicitBounds: [1] })]));
  expect({ samples, rejected }).toEqual({
    samples: [
      `m_bucket{${TARGET},le=+Inf} stale`,
      `m_bucket{${TARGET},le=1} stale`,
      `m_count{${TARGET}} stale`,
    ],
    rejected: 0,
  });
});

test('the samples of a histogram or summary count as one point, and target_info as none', () => {
  const number = { timeUnixNano, asInt: 1 };
  const attributes = [text('a', 'b')];
  const counts = { count: 3, bucketCounts: [1, 2], explicitBounds: [1] };
  const histogram = histogramOf(counts);
  histogram.histogram.dataPoints.push({ timeUnixNano, ...counts, attributes } as never);
  const summary = { ...summaryOf(0.5, 0.9), name: 's' };
  const { sources, dropped } = otlpMetrics.parse(
    dictionary,
    readMetricsJson(
      request(
        [
          histogram,
          summary,
          { name: 'g_count', gauge: { dataPoints: [number, { ...number, attributes }] } },
          { name: 'g_bucket', gauge: { dataPoints: [{ ...number, attributes: [text('le', '1')] }] } },
        ],
        [...SHOP, text('zone', 'a')],
      ),
    ),
    ACCEPTS,
    undefined,
  );
  const rows = sources.flatMap(([, ofSource]) => ofSource);
  expect(rows.flatMap(({ series }) => [...series])).toHaveLength(2 * 3 + 4 + 3 + 1);
  expect(countPoints(dictionary, dropped.metadata, rows)).toBe(2 + 1 + 3);
  const other = rows.map((row) => ({ ...row, timestamp: row.timestamp + 1 }));
  expect(countPoints(dictionary, dropped.metadata, [...rows, ...other])).toBe(2 * (2 + 1 + 3));
});

test('points are counted without reading the labels of a series once for each of its samples', () => {
  const labelsOf = jest.fn((series: number) => [
    [METRIC_NAME, 'm'] as const,
    ['job', String(series).padStart(4000, 'x')] as const,
  ]);
  const rows = Array.from({ length: 1000 }, (_, i) => ({ timestamp: i, series: Int32Array.of(1, 2) }));
  expect(countPoints({ labelsOf }, [], rows)).toBe(2000);
  expect(labelsOf).toHaveBeenCalledTimes(2);
});

test('a histogram point beyond the rows of a request counts as one rejected point', () => {
  const dataPoints = Array.from({ length: MAX_SERIES_SETS + 2 }, (_, i) => ({
    timeUnixNano: String(BigInt(NOW_MS - i) * 1_000_000n),
    count: 1,
    attributes: [text('a', String(i))],
  }));
  const metric = { name: 'm', histogram: { aggregationTemporality: 2, dataPoints } };
  const ofRequest = new SeriesDictionary(tenant.id);
  const { dropped } = otlpMetrics.parse(ofRequest, readMetricsJson(request([metric])), ACCEPTS, undefined);
  expect(dropped).toMatchObject({ rejected: 0, samples: 4 });
  expect(countPoints(ofRequest, dropped.metadata, dropped.cut)).toBe(2);
});

test('a metric with the points of two kinds is refused, since one kind would be lost', () => {
  const gauge = { dataPoints: [{ timeUnixNano, asInt: 1 }] };
  const summary = { dataPoints: [{ timeUnixNano, count: 1 }] };
  const read = (metric: object) => () =>
    otlpMetrics.parse(dictionary, readMetricsJson(request([metric])), ACCEPTS, undefined);
  expect(read({ name: 'm', gauge, summary })).toThrow(InvalidMetricsJsonError);
  expect(read({ name: 'm', gauge, summary })).toThrow('a metric has both gauge and summary');
  const Metric = MetricsRequest.root.lookupType('otlp.Metric');
  const parts = [{ name: 'm', gauge }, { gauge }].map((part) =>
    Metric.encode(Metric.fromObject(part)).finish(),
  );
  const wrapped = [2, 2, 1].reduce<Uint8Array>(
    (bytes, field) => Buffer.concat([Buffer.from([field * 8 + 2, bytes.length]), bytes]),
    Buffer.concat(parts),
  );
  const decode = () => otlpMetrics.parse(dictionary, decodeMetrics(wrapped), ACCEPTS, undefined);
  expect(decode).toThrow(MalformedBytesError);
  expect(decode).toThrow('a metric has its data twice');
});

test.each([
  {
    name: 'of delta temporality',
    metric: { name: 'm', sum: { aggregationTemporality: 1, dataPoints: [{ timeUnixNano }] } },
    reason: '"m": only cumulative',
  },
  {
    name: 'of unspecified temporality',
    metric: { name: 'm', sum: { dataPoints: [{ timeUnixNano }] } },
    reason: '"m": only cumulative',
  },
  {
    name: 'of exponential histograms',
    metric: { name: 'm', exponentialHistogram: { dataPoints: [{}] } },
    reason: '"m": exponential',
  },
  {
    name: 'without a name',
    metric: { name: '!', gauge: { dataPoints: [{ timeUnixNano }] } },
    reason: '"!": the name has no',
  },
  {
    name: 'that are too old',
    metric: { name: 'm', gauge: { dataPoints: [{ timeUnixNano: '1', asInt: 1 }] } },
    reason: 'm: time 0 ms is older than 24 h',
  },
  {
    name: 'of a gauge without a value',
    metric: { name: 'm', gauge: { dataPoints: [{ timeUnixNano }] } },
    reason: 'm: a point has no value',
  },
  {
    name: 'of a counter without a value',
    metric: {
      name: 'm',
      sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ timeUnixNano }] },
    },
    reason: 'm_total: a point has no value',
  },
  {
    name: 'of a histogram with bounds and without counts',
    metric: histogramOf({ count: 3, explicitBounds: [1] }),
    reason: 'm: 0 buckets for 1 bounds',
  },
  {
    name: 'of a histogram with a bound twice',
    metric: histogramOf({ count: 3, bucketCounts: [1, 1, 1], explicitBounds: [1, 1] }),
    reason: 'm: the bounds must ascend, and be numbers below +Inf',
  },
  {
    name: 'of a histogram whose last bound is +Inf, the bound of the bucket that follows',
    metric: histogramOf({ count: 3, bucketCounts: [1, 1, 1], explicitBounds: [1, 'Infinity'] }),
    reason: 'm: the bounds must ascend, and be numbers below +Inf',
  },
  {
    name: 'of a histogram with a bound that is not a number',
    metric: histogramOf({ count: 2, bucketCounts: [1, 1], explicitBounds: ['NaN'] }),
    reason: 'm: the bounds must ascend, and be numbers below +Inf',
  },
  {
    name: 'of a summary with a quantile twice',
    metric: summaryOf(0.5, 0.9, 0.5),
    reason: 'm: a quantile occurs twice',
  },
  {
    name: 'of a summary with a quantile that is too large',
    metric: summaryOf(99),
    reason: 'm: the quantile 99 is not between 0 and 1',
  },
  {
    name: 'of a summary with a quantile that is not a number',
    metric: summaryOf('NaN'),
    reason: 'm: the quantile NaN is not between 0 and 1',
  },
])('points $name are rejected with a reason', ({ metric, reason }) => {
  const { samples, rejected, reasons } = samplesOf(request([metric]));
  expect({ samples, rejected }).toEqual({ samples: [], rejected: 1 });
  expect(reasons[0]).toContain(reason);
});

test('a resource without a service is taken with a warning', () => {
  const gauge = { dataPoints: [{ timeUnixNano, asInt: 1 }] };
  const { samples, rejected, reasons } = samplesOf(request([{ name: 'm', gauge }], []));
  expect({ samples, rejected }).toEqual({ samples: ['m{} 1'], rejected: 0 });
  expect(reasons[0]).toContain('neither service.name nor service.instance.id');
});

test('fields in descending order, as the Collector writes them, mean the same', () => {
  const gauge = { dataPoints: [{ timeUnixNano, asDouble: 2, attributes: [text('k', 'v')] }] };
  const [resource, scope] = ['resource', 'scopeMetrics'].map((field) => {
    const full = request([{ name: 'm', gauge }]).resourceMetrics[0]!;
    const part = { resourceMetrics: [{ [field]: full[field as keyof typeof full] }] };
    return Buffer.from(MetricsRequest.encode(MetricsRequest.fromObject(part)).finish()).subarray(2);
  });
  const body = Buffer.concat([scope!, resource!]);
  const bytes = Buffer.concat([Buffer.from([0x0a, body.length]), body]);
  expect(flat(otlpMetrics.parse(dictionary, decodeMetrics(bytes), ACCEPTS, undefined)).samples).toEqual([
    `m{${TARGET},k=v} 2`,
  ]);
});

test('a metric without data leaves nothing behind for the name of the next metric', () => {
  const field = (number: number, value: Uint8Array) =>
    Buffer.concat([Buffer.of(8 * number + 2, value.length), value]);
  const [name, description, unit] = [1, 2, 3] as const;
  // The fields of the first metric's header are scattered: an unknown field, 12, stands between them.
  const empty = [
    field(name, Buffer.from('lost')),
    field(unit, Buffer.from('s')),
    field(12, Buffer.alloc(1)),
    field(description, Buffer.from('no data')),
  ];
  const whole = MetricsRequest.encode(
    MetricsRequest.fromObject(
      request([{ name: 'kept', gauge: { dataPoints: [{ timeUnixNano, asDouble: 1 }] } }]),
    ),
  ).finish();
  const resource = [field(2, field(2, Buffer.concat(empty)))];
  const body = Buffer.concat([field(1, Buffer.concat(resource)), whole]);
  expect(flat(otlpMetrics.parse(dictionary, decodeMetrics(body), ACCEPTS, undefined)).samples).toEqual([
    `kept{${TARGET}} 1`,
  ]);
});

test.each(['of a point', 'of the resource'])(
  'an attribute %s that is nested too deep rejects its points',
  (where) => {
    let value: object = { stringValue: 'x' };
    for (let i = 0; i < MAX_DEPTH + 1; i++) value = { arrayValue: { values: [value] } };
    const deep = { key: 'deep', value };
    const attributes = where === 'of a point' ? [deep] : [];
    const gauge = { dataPoints: [{ timeUnixNano, asInt: 1, attributes }] };
    const { samples, rejected, reasons } = samplesOf(
      request([{ name: 'm', gauge }], where === 'of a point' ? SHOP : [...SHOP, deep]),
    );
    expect({ samples, rejected }).toEqual({ samples: [], rejected: 1 });
    expect(reasons[0]).toContain(`an attribute is nested more than ${MAX_DEPTH} deep`);
  },
);

test('altered bytes are decoded or refused, never anything else', () => {
  const point = { timeUnixNano, count: 6, sum: 9.5, bucketCounts: [1, 2, 3], explicitBounds: [0.5, 10] };
  const metrics = [
    { name: 'h', histogram: { aggregationTemporality: 2, dataPoints: [point] } },
    { name: 'g', gauge: { dataPoints: [{ timeUnixNano, asInt: 1, attributes: [text('a', 'b')] }] } },
  ];
  const bytes = MetricsRequest.encode(MetricsRequest.fromObject(request(metrics))).finish();
  const alteration = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255));
  fc.assert(
    fc.property(fc.array(alteration, { minLength: 1, maxLength: 4 }), (alterations) => {
      const altered = Uint8Array.from(bytes);
      for (const [at, byte] of alterations) altered[at] = byte;
      try {
        otlpMetrics.parse(dictionary, decodeMetrics(altered), ACCEPTS, undefined);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedBytesError);
      }
    }),
    { numRuns: 3_000 },
  );
});

test('JSON that nests deeper than the stack allows is refused with the field', () => {
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
  const gauge = { dataPoints: [{ timeUnixNano, asDouble: deep }] };
  const attributes = [{ key: 'deep', value: { stringValue: 'a', more: deep } }];
  for (const [body, message] of [
    [deep, 'body: expected an object, got an array'],
    [{ resourceMetrics: { a: deep } }, 'resourceMetrics: expected an array, got an object'],
    [request([{ name: 'm', gauge }]), 'asDouble: expected a number, got an array'],
    [{ resourceMetrics: [{ resource: { attributes } }] }, 'attributes: nested too deep'],
  ] as const) {
    const parse = () => otlpMetrics.parse(dictionary, readMetricsJson(body), ACCEPTS, undefined);
    expect(parse).toThrow(InvalidMetricsJsonError);
    expect(parse).toThrow(message);
  }
});

test('any JSON is read or refused with the field, never anything else', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const bodies = [
        a,
        { resourceMetrics: a },
        request([a as object, { name: 'm', gauge: { dataPoints: [b] } }]),
      ];
      for (const body of bodies) {
        try {
          otlpMetrics.parse(dictionary, readMetricsJson(body), ACCEPTS, undefined);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidMetricsJsonError);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

test('a partial success is a message that the library reads', () => {
  const Success = protobuf
    .parse(
      'syntax = "proto3"; message R { S partial_success = 1; } message S { int64 rejected_data_points = 1; string error_message = 2; }',
    )
    .root.lookupType('R');
  const bytes = encodePartialSuccess(300, 'why');
  expect(Success.toObject(Success.decode(bytes), { longs: Number })).toEqual({
    partialSuccess: { rejectedDataPoints: 300, errorMessage: 'why' },
  });
  expect(encodePartialSuccess(0, '')).toHaveLength(0);
});
