/** Parses damaged bodies. */

import { snappyCompress } from 'hysnappy';
import { Random } from '../../../scripts/faults/random';
import { SeriesDictionaries } from '../../../shared/dictionary/dictionaries';
import { HttpError, jsonOf } from '../../../shared/http/http';
import { MalformedBytesError } from '../../../shared/model/bytes';
import { CACHES } from '../../../shared/model/cache-budgets';
import { tenantIdOf } from '../../../shared/model/placement';
import { InvalidMetricsJsonError, readMetricsJson } from '../../../shared/protocol/otlp/json';
import { otlpMetrics } from '../../../shared/protocol/otlp/otlp';
import { decodeMetrics } from '../../../shared/protocol/otlp/protobuf';
import { remoteWrite } from '../../../shared/protocol/prometheus/remote-write';
import { uncompressBlock } from '../../../shared/protocol/prometheus/snappy';
import { RequestTooLargeError } from '../../../shared/protocol/protocol';
import { rowRecords } from '../../../shared/stream/row-records';
import { IS_LONG } from '../../support/long';
import { SEED } from '../../support/seed';
import { MetricsRequest } from './otlp/messages';
import { encodeV1, encodeV2 } from './prometheus/messages';

const mutations = IS_LONG ? 200_000 : 1_000;

const NOW_MS = 1_795_212_120_000;
const ACCEPTS = { nowMs: NOW_MS, maxAgeMs: 86_400_000 };
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 16 }] },
};

const series = ['up', 'http_requests_total', 'a.b é'].map((name, i) => ({
  labels: [
    ['__name__', name],
    ['instance', `10.0.0.${i}:9100`],
    ['job', 'node'],
  ] as [string, string][],
  samples: [0, 1, 2].map((s) => ({ timestamp: NOW_MS - 1000 * s, value: i + s / 10 })),
}));
const metadata = [{ type: 1, metricFamilyName: 'http_requests_total', help: 'Requests.', unit: '' }];

const timeUnixNano = String(BigInt(NOW_MS) * 1_000_000n);
const attributes = [
  { key: 'a', value: { stringValue: 'b' } },
  { key: 'n', value: { arrayValue: { values: [{ intValue: 5 }, { doubleValue: 0.5 }] } } },
  { key: 'm', value: { kvlistValue: { values: [{ key: 'k', value: { boolValue: true } }] } } },
];
const cumulative = { aggregationTemporality: 2 };
const otlpBody = {
  resourceMetrics: [
    {
      resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }, ...attributes] },
      scopeMetrics: [
        {
          metrics: [
            { name: 'g', unit: 'By', gauge: { dataPoints: [{ timeUnixNano, asDouble: 1.5, attributes }] } },
            {
              name: 's',
              sum: { ...cumulative, isMonotonic: true, dataPoints: [{ timeUnixNano, asInt: '7' }] },
            },
            {
              name: 'h',
              histogram: {
                ...cumulative,
                dataPoints: [
                  {
                    timeUnixNano,
                    count: '6',
                    sum: 9.5,
                    bucketCounts: ['1', '2', '3'],
                    explicitBounds: [0.5, 10],
                  },
                ],
              },
            },
            {
              name: 'q',
              summary: {
                dataPoints: [
                  { timeUnixNano, count: '2', sum: 4, quantileValues: [{ quantile: 0.99, value: 3 }] },
                ],
              },
            },
          ],
        },
      ],
    },
  ],
};

type Parsed = ReturnType<typeof remoteWrite.parse> | ReturnType<typeof otlpMetrics.parse>;

interface Target {
  readonly name: string;
  readonly body: Uint8Array;
  parse(bytes: Uint8Array): Parsed;
}

const dictionaries = new SeriesDictionaries(CACHES.seriesDictionaries);
const write = (version: 1 | 2) => (bytes: Uint8Array) =>
  remoteWrite.parse(dictionaries.of(tenant.id), bytes, ACCEPTS, { version });
const TARGETS: readonly Target[] = [
  { name: 'remote write 1.0', body: encodeV1(series, metadata), parse: write(1) },
  { name: 'remote write 2.0', body: encodeV2(series), parse: write(2) },
  {
    name: 'remote write in snappy',
    body: snappyCompress(encodeV1(series)),
    parse: (bytes) => write(1)(uncompressBlock(bytes)),
  },
  {
    name: 'OTLP',
    body: MetricsRequest.encode(MetricsRequest.fromObject(otlpBody)).finish(),
    parse: (bytes) => otlpMetrics.parse(dictionaries.of(tenant.id), decodeMetrics(bytes), ACCEPTS, undefined),
  },
  {
    name: 'OTLP in JSON',
    body: Buffer.from(JSON.stringify(otlpBody)),
    parse: (bytes) =>
      otlpMetrics.parse(
        dictionaries.of(tenant.id),
        readMetricsJson(jsonOf(Buffer.from(bytes).toString()) ?? {}),
        ACCEPTS,
        undefined,
      ),
  },
];

/** Errors to which `post` responds with 400 or 413. */
const REFUSALS = [MalformedBytesError, InvalidMetricsJsonError, RequestTooLargeError, HttpError];

/** Bytes that have a meaning in one of the formats: tags, lengths, ends of varints, characters of JSON. */
const TELLING = [0, 1, 0x0a, 0x12, 0x1a, 0x22, 0x2a, 0x7f, 0x80, 0xff, ...Buffer.from('{}[],:"-e9')];

function mutate(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.integer(0, bytes.length - 1);
  const end = Math.min(bytes.length, at + random.integer(1, 12));
  const result = Uint8Array.from(bytes);
  switch (random.integer(0, 5)) {
    case 0:
      result[at]! ^= 1 << random.integer(0, 7);
      return result;
    case 1:
      result[at] = TELLING[random.integer(0, TELLING.length - 1)]!;
      return result;
    case 2:
      return result.subarray(0, at);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 4:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    default: {
      const from = random.integer(0, bytes.length - 1);
      return Buffer.concat([
        bytes.subarray(0, at),
        bytes.subarray(from, from + (end - at)),
        bytes.subarray(end),
      ]);
    }
  }
}

describe(`${mutations} altered bodies (SEED=${SEED})`, () => {
  test.each(TARGETS)('of $name are stored in part or refused, never a server error', ({ body, parse }) => {
    const random = new Random(SEED);
    const refused = new Map<string, number>();
    const rssBefore = process.memoryUsage().rss;
    for (let i = 0; i < mutations; i++) {
      let altered = body;
      for (let times = random.integer(1, 4); times > 0 && altered.length > 0; times--)
        altered = mutate(altered, random);
      try {
        const { sources, samples } = parse(altered);
        rowRecords(tenant as never, sources);
        const kept = sources.flatMap(([, rows]) => rows).reduce((sum, { values }) => sum + values.length, 0);
        if (kept !== samples) throw new Error(`${kept} samples in rows, ${samples} announced`);
      } catch (error) {
        if (!REFUSALS.some((refusal) => error instanceof refusal))
          throw new Error(`${Buffer.from(altered).toString('base64')}`, { cause: error });
        const name = (error as Error).name;
        refused.set(name, (refused.get(name) ?? 0) + 1);
      }
    }
    // Both outcomes must be frequent. Otherwise the bodies are altered too much or too little.
    const refusals = [...refused.values()].reduce((sum, count) => sum + count, 0);
    expect(refusals).toBeGreaterThan(mutations / 50);
    expect(refusals).toBeLessThan(mutations * 0.98);
    // Only the dictionary may grow, and it is bounded.
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(600e6);
  });
});
