import type { Metadata } from '../../../functions/page/browser/graphs/metadata';
import { unitOf } from '../../../functions/page/browser/graphs/metadata';
import { measureOf, queriesOf, unitOfWay, wayOf } from '../../../functions/page/browser/graphs/ways';

const described = (type: string, unit = '') => ({ type, help: '', unit });
const metadata: Metadata = new Map([
  ['http_requests_total', described('counter')],
  ['sent_bytes_total', described('counter')],
  // OpenMetrics names the family of a counter without `_total`.
  ['cpu_seconds', described('counter')],
  ['latency', described('histogram', 's')],
  ['load', described('gauge')],
  ['rpc_seconds', described('summary')],
]);

describe('a query that is a selector alone', () => {
  test.each([
    { query: 'http_requests_total', kind: 'counter', matchers: '' },
    {
      query: ' sent_bytes_total{job="a", path=~"/{x}\\"}"} ',
      kind: 'counter',
      matchers: '{job="a", path=~"/{x}\\"}"}',
    },
    { query: 'cpu_seconds_total', kind: 'counter', matchers: '' },
    { query: 'latency_bucket{le="1"}', kind: 'histogram', matchers: '{le="1"}' },
    { query: 'latency_count', kind: 'counter', matchers: '' },
    { query: 'rpc_seconds_sum', kind: 'counter', matchers: '' },
  ])('of a counter or histogram is measured: $query', ({ query, ...measure }) => {
    expect(measureOf(query, metadata)).toMatchObject(measure);
  });

  test.each([
    'load',
    'unknown_total',
    'rpc_seconds',
    'rate(http_requests_total[5m])',
    'http_requests_total > 1',
    '',
  ])('of anything else is drawn as it is: %s', (query) => {
    expect(measureOf(query, metadata)).toBeUndefined();
  });
});

describe('the ways to show', () => {
  const counter = measureOf('sent_bytes_total{job="a"}', metadata)!;
  const histogram = measureOf('latency_bucket', metadata)!;

  test('a counter begin with its rate, over five minutes or a step if that is longer', () => {
    expect(wayOf(counter, undefined)).toBe('rate');
    expect(queriesOf(counter, 'rate', 30)).toEqual([{ query: 'rate(sent_bytes_total{job="a"}[5m])' }]);
    expect(queriesOf(counter, 'increase', 7200)).toEqual([
      { query: 'increase(sent_bytes_total{job="a"}[2h])' },
    ]);
    expect([unitOfWay(counter, 'rate'), unitOfWay(counter, 'increase')]).toEqual(['bytes/sec', 'bytes']);
  });

  test('a histogram begin with its quantiles, in the unit of what it observes', () => {
    expect(wayOf(histogram, 'nonsense')).toBe('quantiles');
    expect(queriesOf(histogram, 'quantiles', 30)).toEqual(
      [0.5, 0.9, 0.99].map((quantile) => ({
        query: `histogram_quantile(${quantile}, sum by (le) (rate(latency_bucket[5m])))`,
        label: `${quantile * 100} %`,
      })),
    );
    expect(queriesOf(histogram, 'average', 30)[0]!.query).toBe(
      'sum(rate(latency_sum[5m])) / sum(rate(latency_count[5m]))',
    );
    expect([unitOfWay(histogram, 'quantiles'), unitOfWay(histogram, 'rate')]).toEqual(['seconds', 'iops']);
  });
});

test.each([
  { metric: 'node_memory_free_bytes', unit: 'bytes' },
  { metric: 'sent_bytes_total', unit: 'bytes' },
  { metric: 'request_duration_seconds', unit: 'seconds' },
  { metric: 'latency', unit: 'seconds' },
  { metric: 'kilobytes', unit: 'float' },
  { metric: 'load1', unit: 'float' },
])('the unit of $metric is $unit', ({ metric, unit }) => {
  expect(unitOf(metric, metadata.get(metric))).toBe(unit);
});
