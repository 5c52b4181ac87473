import { snappyCompress } from 'hysnappy';
import { equals } from '../../shared/model/matcher';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { ops } from '../support/ops';
import { exportBySdk } from '../support/otel-sdk';
import { patientFetch } from '../support/patient-fetch';
import { receiverCases, withStaleMarkers } from '../support/remote-write-cases';
import { readBits } from '../support/stack-samples';
import { Stores } from '../support/stores';
import { until } from '../support/until';
import { encodeV1, encodeV2, type PlainSeries } from '../unit/protocol/prometheus/messages';

const V2 = 'application/x-protobuf;proto=io.prometheus.write.v2.Request';
const JOB: [string, string][] = [
  ['instance', '10.0.0.1:9100'],
  ['job', 'node'],
];

describe('remote write and OTLP', () => {
  let stack: LocalStack;
  const nowMs = Math.floor(Date.now() / 1000) * 1000 - 5_000;

  beforeAll(async () => {
    stack = await startLocalStack({ hasFreedoms: true });
  });

  afterAll(async () => {
    await stack?.stop();
  });

  const send = (path: string, body: Uint8Array, headers: Record<string, string>) =>
    patientFetch(new URL(path, stack.url), {
      method: 'POST',
      headers: { 'x-api-key': stack.apiKey, ...headers },
      body,
    });

  const write = (body: Uint8Array, headers: Record<string, string> = {}) =>
    send('/prometheus/api/v1/write', snappyCompress(body), {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'snappy',
      'x-prometheus-remote-write-version': '0.1.0',
      ...headers,
    });

  const series = (name: string, values: readonly number[], labels = JOB): PlainSeries => ({
    labels: [['__name__', name], ...labels],
    samples: values.map((value, i) => ({ timestamp: nowMs + i * 1000, value })),
  });

  /** Waits until a series has as many samples as expected. */
  const read = (name: string, labels: readonly (readonly [string, string])[], count: number) => {
    const query = new URLSearchParams({
      name,
      from: String(nowMs / 1000 - 60),
      to: String(Math.ceil(Date.now() / 1000) + 60),
    });
    for (const [label, value] of labels) query.append('label', `${label}=${value}`);
    return until(
      name,
      async () => {
        const url = new URL(`/api/v1/series/metrics?${query}`, stack.url);
        const answer = await patientFetch(url, { headers: { 'x-api-key': stack.apiKey } });
        const body = (await answer.json()) as { metrics?: { time: number; value: number | null }[] };
        return (body.metrics ?? []).map(({ time, value }) => [time * 1000, value]);
      },
      (samples) => samples.length === count,
    );
  };

  test.each([
    { version: '1.0', encode: encodeV1, contentType: 'application/x-protobuf' },
    { version: '2.0', encode: encodeV2, contentType: V2 },
  ])('remote write $version is read back, by job and instance', async ({ version, encode, contentType }) => {
    const name = `up_${version.replace('.', '_')}`;
    const body = encode([series(name, [1, 0.5, -0]), series(`${name}_b`, [7], [...JOB, ['mode', 'idle']])]);
    const answer = await write(body, { 'content-type': contentType });
    expect([answer.status, await answer.text()]).toEqual([204, '']);
    expect(answer.headers.get('x-prometheus-remote-write-samples-written')).toBe(
      version === '2.0' ? '4' : null,
    );
    expect(await read(name, JOB, 3)).toEqual([
      [nowMs, 1],
      [nowMs + 1000, 0.5],
      [nowMs + 2000, 0],
    ]);
    expect(await read(`${name}_b`, [...JOB, ['mode', 'idle']], 1)).toEqual([[nowMs, 7]]);
  });

  test('keeps the valid part of a request, and says which series was refused and why', async () => {
    const old = { ...series('kept_old', [1]), samples: [{ timestamp: nowMs - 40 * 86_400_000, value: 1 }] };
    const answer = await write(
      encodeV1([series('kept_a', [1]), { ...series('x', [2]), labels: JOB }, old, series('kept_b', [3])]),
    );
    expect(answer.status).toBe(400);
    expect(await answer.text()).toBe(
      'dropped: 1 samples of invalid series, 1 samples older than 24 h. ' +
        `series 1: __name__ is missing or empty; series "kept_old": timestamp ${nowMs - 40 * 86_400_000} ms is older than 24 h`,
    );
    expect(answer.headers.get('x-prometheus-remote-write-samples-written')).toBe('2');
    expect(await read('kept_a', JOB, 1)).toEqual([[nowMs, 1]]);
    expect(await read('kept_b', JOB, 1)).toEqual([[nowMs, 3]]);
  });

  test.each([
    { name: 'of another content type', headers: { 'content-type': 'text/plain' }, status: 415 },
    {
      name: 'of another message',
      headers: { 'content-type': 'application/x-protobuf;proto=x' },
      status: 415,
    },
    { name: 'of another encoding', headers: { 'content-encoding': 'zstd' }, status: 415 },
    { name: 'that is not snappy', headers: { 'content-encoding': 'snappy' }, body: 'abc', status: 400 },
    { name: 'that announces 4 GB', headers: {}, body: '\xff\xff\xff\xff\x0f\x00a', status: 413 },
    { name: 'of the other version', headers: { 'content-type': V2 }, status: 400 },
    { name: 'with an unknown key', headers: { 'x-api-key': 'ht_nobody' }, status: 401 },
  ])('a request $name is $status', async ({ headers, body, status }) => {
    const given =
      body === undefined ? snappyCompress(encodeV1([series('up', [1])])) : Buffer.from(body, 'latin1');
    const answer = await send('/prometheus/api/v1/write', given, {
      'content-type': 'application/x-protobuf',
      'content-encoding': 'snappy',
      ...(headers as Record<string, string>),
    });
    expect(answer.status).toBe(status);
  });

  /**
   * The cases of prometheus/compliance's receiver tests, by their names there. Histograms and exemplars are not stored
   * here. So a 400 is a correct answer if nothing was written that was not sent.
   *
   * @see https://github.com/prometheus/compliance/tree/main/remotewrite/receiver
   */
  describe('a receiver of remote write 2.0', () => {
    const one = (labels: [string, string][], value = 1) => ({
      labels,
      samples: [{ timestamp: nowMs, value }],
    });
    const target = (instance: string, name = 'up'): [string, string][] => [
      ['__name__', name],
      ['job', 'testjob'],
      ['instance', instance],
    ];

    test.each(receiverCases(nowMs))('answers $status to $name', async ({ series, status, samples }) => {
      const answer = await write(withStaleMarkers(encodeV2(series)), {
        'content-type': V2,
        'x-prometheus-remote-write-version': '2.0.0',
      });
      const header = (what: string) => answer.headers.get(`x-prometheus-remote-write-${what}-written`);
      expect([answer.status, header('samples'), header('histograms'), header('exemplars')]).toEqual([
        status,
        String(samples),
        '0',
        '0',
      ]);
      expect(await answer.text()).toMatch(status === 204 ? /^$/ : /^dropped: /);
    });

    test.each([
      { name: 'labels that are not sorted', labels: { z: '1', a: '2', __name__: 'up' } },
      { name: 'a label of any script', labels: { __name__: 'm', environment: 'test🚀äöü' } },
    ])('takes $name', async ({ labels }) => {
      const answer = await write(encodeV2([one(Object.entries(labels))]), { 'content-type': V2 });
      expect([answer.status, answer.headers.get('x-prometheus-remote-write-samples-written')]).toEqual([
        204,
        '1',
      ]);
    });

    test('tells why histograms and exemplars were dropped', async () => {
      const body = encodeV2([{ ...one(target('told')), histograms: 2, exemplars: 3 }]);
      expect(await (await write(body, { 'content-type': V2 })).text()).toBe(
        'dropped: 2 native histograms, which are not stored, 3 exemplars, which are not stored',
      );
    });

    test.each([
      {
        name: 'BadContentTypes/application_json',
        headers: { 'content-type': 'application/json' },
        status: 415,
      },
      { name: 'BadContentTypes/image_png', headers: { 'content-type': 'image/png' }, status: 415 },
      { name: 'BadContentEncodings/gzip', headers: { 'content-encoding': 'gzip' }, status: 415 },
      { name: 'BadContentEncodings/deflate', headers: { 'content-encoding': 'deflate' }, status: 415 },
      { name: 'CorruptRequestBody', headers: {}, status: 400 },
    ])('answers $status to a broken body: $name', async ({ headers, status }) => {
      const body = Buffer.from(snappyCompress(encodeV2([one(target('a'))])));
      body[0] = 0x30;
      const answer = await send('/prometheus/api/v1/write', body, {
        'content-type': V2,
        'content-encoding': 'snappy',
        ...(headers as Record<string, string>),
      });
      expect(answer.status).toBe(status);
    });

    test('takes a sender of 1.0, and names nothing written on its success: RW1BasicCompatibility', async () => {
      const answer = await write(encodeV1([one(target('old')), one([['__name__', 'http_requests_total']])]));
      expect([answer.status, answer.headers.get('x-prometheus-remote-write-samples-written')]).toEqual([
        204,
        null,
      ]);
    });

    test('answers 400 to a broken body of 1.0: RW1ErrorHandling', async () => {
      const body = Buffer.from(snappyCompress(encodeV1([one(target('a'))])));
      body[0] = 0xff;
      const answer = await send('/prometheus/api/v1/write', body, {
        'content-type': 'application/x-protobuf',
        'content-encoding': 'snappy',
      });
      expect(answer.status).toBe(400);
    });
  });

  test('stale markers and other NaN, infinities, -0 and denormals keep their bits through all tiers', async () => {
    const bits = [
      '7ff0000000000002',
      '7ff8000000000001',
      'fff8000000000000',
      '7ff0000000000000',
      'fff0000000000000',
      '8000000000000000',
      '0000000000000001',
    ];
    const labels: [string, string][] = [
      ['instance', 'bits'],
      ['job', 'node'],
    ];
    const value = 12345.678;
    const bytes = Buffer.from(
      encodeV1([
        series(
          'bits',
          bits.map(() => value),
          labels,
        ),
      ]),
    );
    const double = Buffer.alloc(8);
    double.writeDoubleLE(value);
    for (const each of bits) Buffer.from(each, 'hex').reverse().copy(bytes, bytes.indexOf(double));
    expect((await write(bytes)).status).toBe(204);
    const wanted = bits.map((each, i) => [nowMs + i * 1000, each]);
    const stored = async () => {
      const read = await readBits(stack, [equals('instance', 'bits')], {
        fromMs: nowMs,
        toMs: nowMs + 60_000,
      });
      return [...([...read.values()][0] ?? [])];
    };
    expect(await until('the samples', stored, (samples) => samples.length === bits.length)).toEqual(wanted);
    const stores = new Stores(stack);
    // After a drain, a batch may be delivered again, and appended again.
    const drained = async () => {
      await ops(stack.url, 'drain');
      return stores.hot();
    };
    await until('memory is empty', drained, ({ frames }) => frames === 0);
    expect(await stored()).toEqual(wanted);
    const purged = async () => {
      await drained();
      await ops(stack.url, 'archive', '--purge');
      return stores.warm();
    };
    await until('the warm tier is empty', purged, ({ items }) => items === 0);
    await stores.close();
    expect(await stored()).toEqual(wanted);
  });

  test('an empty request, or one of metadata alone, is 204', async () => {
    expect((await write(new Uint8Array(0))).status).toBe(204);
    const metadata = [{ type: 1, metricFamilyName: 'http_requests_total', help: 'Requests.' }];
    expect((await write(encodeV1([], metadata))).status).toBe(204);
  });

  test('OTLP as JSON is read back, and what is not stored is reported', async () => {
    const timeUnixNano = String(BigInt(nowMs) * 1_000_000n);
    const body = {
      resourceMetrics: [
        {
          resource: {
            attributes: [
              { key: 'service.name', value: { stringValue: 'shop' } },
              { key: 'service.instance.id', value: { stringValue: 'i-1' } },
              { key: 'host.name', value: { stringValue: 'web1' } },
            ],
          },
          scopeMetrics: [
            {
              metrics: [
                { name: 'queue.size', unit: '1', gauge: { dataPoints: [{ timeUnixNano, asInt: '5' }] } },
                {
                  name: 'http.requests',
                  sum: {
                    aggregationTemporality: 1,
                    isMonotonic: true,
                    dataPoints: [{ timeUnixNano, asInt: 1 }],
                  },
                },
                {
                  name: 'latency',
                  unit: 'ms',
                  histogram: {
                    aggregationTemporality: 2,
                    dataPoints: [
                      {
                        timeUnixNano,
                        count: '3',
                        sum: 7.5,
                        bucketCounts: ['1', '1', '1'],
                        explicitBounds: [1, 2.5],
                      },
                    ],
                  },
                },
              ],
            },
          ],
        },
      ],
    };
    const answer = await send('/v1/metrics', Buffer.from(JSON.stringify(body)), {
      'content-type': 'application/json',
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toEqual({
      partialSuccess: {
        rejectedDataPoints: '1',
        errorMessage:
          '"http.requests": only cumulative temporality is stored: use the deltatocumulative processor',
      },
    });
    const target: [string, string][] = [
      ['instance', 'i-1'],
      ['job', 'shop'],
    ];
    expect(await read('queue_size_ratio', target, 1)).toEqual([[nowMs, 5]]);
    expect(await read('latency_milliseconds_bucket', [...target, ['le', '2.5']], 1)).toEqual([[nowMs, 2]]);
    expect(await read('latency_milliseconds_bucket', [...target, ['le', '+Inf']], 1)).toEqual([[nowMs, 3]]);
    expect(await read('latency_milliseconds_sum', target, 1)).toEqual([[nowMs, 7.5]]);
    expect(await read('target_info', [...target, ['host_name', 'web1']], 1)).toEqual([[nowMs, 1]]);
  });

  describe('an SDK of OpenTelemetry', () => {
    const target = (instance: string): [string, string][] => [
      ['instance', instance],
      ['job', 'sdk'],
    ];

    test.each([
      { encoding: 'protobuf', compression: 'none' },
      { encoding: 'protobuf', compression: 'gzip' },
      { encoding: 'json', compression: 'none' },
      { encoding: 'json', compression: 'gzip' },
    ] as const)(
      'exports gauges, sums and histograms as $encoding, compression $compression',
      async (sent) => {
        const instance = `${sent.encoding}-${sent.compression}`;
        const { url, apiKey } = stack;
        expect(await exportBySdk({ url, apiKey, ...sent, temporality: 'cumulative', instance })).toEqual([]);
        const values = async (name: string, labels: [string, string][] = []) =>
          (await read(name, [...target(instance), ...labels], 1)).map(([, value]) => value);
        expect(await values('temperature_celsius', [['room', 'a']])).toEqual([-1.5]);
        expect(await values('requests_total', [['path', '/']])).toEqual([3]);
        expect(await values('connections')).toEqual([-2]);
        expect(await values('latency_seconds_bucket', [['le', '0.5']])).toEqual([1]);
        expect(await values('latency_seconds_bucket', [['le', '10']])).toEqual([2]);
        expect(await values('latency_seconds_bucket', [['le', '+Inf']])).toEqual([3]);
        expect(await values('latency_seconds_count')).toEqual([3]);
        expect(await values('latency_seconds_sum')).toEqual([21.25]);
        expect(await values('target_info', [['host_name', 'web1']])).toEqual([1]);
      },
    );

    test.each(['protobuf', 'json'] as const)(
      'logs as %s what was rejected, and what was not is kept',
      async (encoding) => {
        const instance = `${encoding}-delta`;
        const { url, apiKey } = stack;
        const logged = await exportBySdk({
          url,
          apiKey,
          encoding,
          instance,
          compression: 'none',
          temporality: 'delta',
        });
        expect(logged).toEqual([
          expect.stringMatching(
            /partial success.*rejectedDataPoints.*1.*only cumulative temporality is stored/is,
          ),
        ]);
        const kept = await read('temperature_celsius', [...target(instance), ['room', 'a']], 1);
        expect(kept.map(([, value]) => value)).toEqual([-1.5]);
      },
    );
  });
});
