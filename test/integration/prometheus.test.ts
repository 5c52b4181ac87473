import { snappyCompress } from 'hysnappy';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { until } from '../support/until';
import { encodeV1, encodeV2, type PlainSeries } from '../unit/protocol/prometheus/messages';

// Requests are quick, machines that do other work at the same time are not.
jest.setTimeout(120_000);

const V2 = 'application/x-protobuf;proto=io.prometheus.write.v2.Request';
const JOB: [string, string][] = [
  ['instance', '10.0.0.1:9100'],
  ['job', 'node'],
];

describe('remote write and OTLP', () => {
  let stack: LocalStack;
  const nowMs = Math.floor(Date.now() / 1000) * 1000 - 5_000;

  beforeAll(async () => {
    stack = await startLocalStack({});
  }, 180_000);

  afterAll(async () => {
    await stack?.stop();
  }, 60_000);

  const send = (path: string, body: Uint8Array, headers: Record<string, string>) =>
    fetch(new URL(path, stack.url), {
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
      to: String(nowMs / 1000 + 60),
    });
    for (const [label, value] of labels) query.append('label', `${label}=${value}`);
    return until(
      name,
      async () => {
        const url = new URL(`/api/v1/series/metrics?${query}`, stack.url);
        const answer = await fetch(url, { headers: { 'x-api-key': stack.apiKey } });
        const body = (await answer.json()) as { metrics?: { time: number; value: number | null }[] };
        return (body.metrics ?? []).map(({ time, value }) => [time * 1000, value]);
      },
      (samples) => samples.length === count,
      20_000,
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
      'left out: 1 samples of invalid series, 1 samples out of the accepted range of time. ' +
        `series 1: __name__ is missing or empty; series "kept_old": timestamp ${nowMs - 40 * 86_400_000} ms is too old`,
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
});
