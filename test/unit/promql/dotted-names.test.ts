import { quotedNames } from '../../../shared/promql/dotted-names';
import { parsePromql } from '../../../shared/promql/parser';

test.each([
  ['up', 'up'],
  ['container.cpu.utilization', '{"container.cpu.utilization"}'],
  [
    'container.cpu.utilization{k8s.deployment.name="httpbin"}',
    '{"container.cpu.utilization","k8s.deployment.name"="httpbin"}',
  ],
  ['a.b {}', '{"a.b",}'],
  ['rate(http.requests{code=~"5.."}[5m])', 'rate({"http.requests",code=~"5.."}[5m])'],
  ['sum by (service.name, job) (a.b) / 1.5', 'sum by ("service.name", job) ({"a.b"}) / 1.5'],
  ['a * on (x.y) group_left (z.w) b', 'a * on ("x.y") group_left ("z.w") b'],
  ['sum(a.b) BY (c.d)', 'sum({"a.b"}) BY ("c.d")'],
  ['up{job="a.b{c"} # a.b', 'up{job="a.b{c"} # a.b'],
  ['sum by # x\n (host.name) (a)', 'sum by # x\n ("host.name") (a)'],
  ['{"a.b", c.d!=\'e\'}', '{"a.b", "c.d"!=\'e\'}'],
  ['1e3 + .5 + 0x1F > bool 2.25', '1e3 + .5 + 0x1F > bool 2.25'],
])('%s', (query, expected) => {
  expect(quotedNames(query)).toBe(expected);
  expect(() => parsePromql(expected)).not.toThrow();
});

test('a text that is not PromQL stays invalid', () => {
  for (const text of ['sum(', '}}}', 'a..b', 'a.b{', '"a.b', 'a.b.c d', ''])
    expect(() => parsePromql(quotedNames(text))).toThrow();
});
