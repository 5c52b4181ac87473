import { parsePromql } from '../../../shared/promql/parser';
import { conditionOf } from '../../../shared/rules/condition';

const threshold = (query: string, op: string, value: number) => ({
  kind: 'threshold',
  query,
  op,
  threshold: value,
});

test.each([
  { expr: 'load > 10', is: threshold('load', '>', 10) },
  { expr: 'up == 0', is: threshold('up', '==', 0) },
  {
    expr: 'sum by (job) (rate(errors[5m])) / 2 >= 0.5',
    is: threshold('sum by (job) (rate(errors[5m])) / 2', '>=', 0.5),
  },
  { expr: '10 < load', is: threshold('load', '>', 10) },
  { expr: '0 != up', is: threshold('up', '!=', 0) },
  { expr: 'free < -1.5e3', is: threshold('free', '<', -1500) },
  { expr: 'used > 10 * 1024 ^ 2', is: threshold('used', '>', 10 * 1024 ** 2) },
  { expr: '((load) > (10))', is: threshold('(load)', '>', 10) },
  { expr: 'load > 10 and on (job) busy', is: threshold('load', '>', 10) },
  { expr: 'load > 10 unless maintenance == 1', is: threshold('load', '>', 10) },
  { expr: 'absent(up{job="api"})', is: { kind: 'absence', query: 'up{job="api"}' } },
  { expr: 'absent(sum(up) > 1)', is: { kind: 'absence', query: 'sum(up) > 1' } },
  { expr: 'absent_over_time(up{job="api"}[10m])', is: { kind: 'absence', query: 'up{job="api"}' } },
  { expr: 'absent_over_time(sum(up)[10m:1m])', is: undefined },
  { expr: 'load > bool 10', is: undefined },
  { expr: 'load > limit', is: undefined },
  { expr: 'load > 10 or free < 5', is: undefined },
  { expr: 'load > Inf', is: undefined },
  { expr: 'load', is: undefined },
  { expr: 'vector(1)', is: undefined },
])('$expr', ({ expr, is }) => {
  expect(conditionOf(parsePromql(expr), expr)).toEqual(is);
});
