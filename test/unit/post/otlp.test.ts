import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { takeOtlp } from '../../../functions/post/otlp';
import type { Taking } from '../../../functions/post/taking';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { labelValue, METRIC_NAME } from '../../../shared/model/labels';
import type { SampleWriter } from '../../../shared/stream/sample-writer';
import type { Tenant } from '../../../shared/tenancy/tenants';

const NOW_MS = 1_795_212_120_000;

test("a point counts as rejected once, however many of its series are beyond the tenant's limit", async () => {
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
  const time = { timeUnixNano: String(BigInt(NOW_MS) * 1_000_000n) };
  const histogram = {
    aggregationTemporality: 2,
    dataPoints: [{ ...time, count: 3, bucketCounts: [1, 2], explicitBounds: [1] }],
  };
  const metrics = [
    { name: 'h', histogram },
    { name: 'new', gauge: { dataPoints: [{ ...time, asInt: 1 }] } },
    { name: 'old', gauge: { dataPoints: [{ ...time, asInt: 1 }] } },
  ];
  const body = JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
  const event = {
    headers: { 'content-type': 'application/json' },
    body,
  } as unknown as APIGatewayProxyEventV2;
  const response = await takeOtlp(event, { id: 't', name: 't' } as Tenant, {
    writer: writer as SampleWriter,
    dictionary,
    metadata: { offer: async () => {} } as unknown as Taking['metadata'],
    accepts: { nowMs: NOW_MS, maxAgeMs: 86_400_000 },
    maxBytes: 1_000_000,
    charge: { body: () => {}, samples: () => {} } as unknown as Taking['charge'],
  });
  expect(JSON.parse(response.body!)).toEqual({
    partialSuccess: {
      rejectedDataPoints: '2',
      errorMessage: expect.stringContaining("new series beyond the tenant's limit were not stored"),
    },
  });
});
