import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { handleOtlp } from '../../../functions/post/otlp';
import type { WriteContext } from '../../../functions/post/write-context';
import { MAX_SERIES_BYTES, SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { labelValue, METRIC_NAME } from '../../../shared/model/labels';
import type { SampleWriter } from '../../../shared/stream/sample-writer';
import type { Tenant } from '../../../shared/tenancy/tenants';

const NOW_MS = 1_795_212_120_000;

const time = { timeUnixNano: String(BigInt(NOW_MS) * 1_000_000n) };
const histogramOf = (changes: object = {}) => ({
  aggregationTemporality: 2,
  dataPoints: [{ ...time, count: 3, sum: 1, bucketCounts: [1, 2], explicitBounds: [1], ...changes }],
});

/** Takes a request of a tenant whose limit of series has room for the series `old` alone. */
async function take(metrics: object[]): Promise<unknown> {
  const dictionary = new SeriesDictionary('t');
  const isNew = (series: number) => labelValue(dictionary.labelsOf(series), METRIC_NAME) !== 'old';
  const writer: Pick<SampleWriter, 'write'> = {
    write: async (_, sources, __, onDropped = () => {}) => {
      const rows = sources.flatMap(([, ofSource]) => ofSource);
      const dropped = rows.map(({ timestamp, series }) => ({ timestamp, series: series.filter(isNew) }));
      for (const row of dropped) onDropped(row);
      return dropped.reduce((sum, { series }) => sum + series.length, 0);
    },
  };
  const event = {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] }),
  } as unknown as APIGatewayProxyEventV2;
  const response = await handleOtlp(event, { id: 't', name: 't' } as Tenant, {
    writer: writer as SampleWriter,
    dictionary,
    metadata: { offer: async () => {} } as unknown as WriteContext['metadata'],
    accepts: { nowMs: NOW_MS, maxAgeMs: 86_400_000 },
    maxBytes: 1_000_000,
    charge: { body: () => {}, samples: () => {} } as unknown as WriteContext['charge'],
  });
  return JSON.parse(response.body!).partialSuccess;
}

test("a point counts as rejected once, however many of its series are beyond the tenant's limit", async () => {
  const metrics = [
    { name: 'h', histogram: histogramOf() },
    { name: 'new', gauge: { dataPoints: [{ ...time, asInt: 1 }] } },
    { name: 'old', gauge: { dataPoints: [{ ...time, asInt: 1 }] } },
  ];
  expect(await take(metrics)).toEqual({
    rejectedDataPoints: '2',
    errorMessage: expect.stringContaining("new series beyond the tenant's limit were not stored"),
  });
});

test("a point counts as rejected once, although one series is invalid and others are beyond the tenant's limit", async () => {
  // The labels of the series of buckets are too long, those of the sum and the count are not.
  const attributes = [{ key: 'a', value: { stringValue: 'x'.repeat(MAX_SERIES_BYTES - 20) } }];
  expect(await take([{ name: 'h', histogram: histogramOf({ attributes }) }])).toEqual({
    rejectedDataPoints: '1',
    errorMessage: expect.stringMatching(/^h_bucket: .*; new series beyond the tenant's limit/),
  });
});
