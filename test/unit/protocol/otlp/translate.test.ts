import { attributeText, boundText, labelName, metricName } from '../../../../shared/protocol/otlp/translate';

test.each([
  {
    name: 'http.server.duration',
    unit: 'ms',
    kind: 'sum',
    isMonotonic: true,
    expected: 'http_server_duration_milliseconds_total',
  },
  { name: 'total.foo', unit: 'By/s', kind: 'sum', isMonotonic: true, expected: 'foo_bytes_per_second_total' },
  { name: '1abc', unit: '%', kind: 'gauge', expected: '_1abc_percent' },
  { name: 'sys/cpu__x-y', unit: 'm/s', kind: 'gauge', expected: 'sys_cpu_x_y_meters_per_second' },
  { name: 'cpu.utilization', unit: '1', kind: 'gauge', expected: 'cpu_utilization_ratio' },
  { name: 'cpu.utilization', unit: '1', kind: 'sum', expected: 'cpu_utilization' },
  { name: 'request_bytes', unit: 'By', kind: 'gauge', expected: 'request_bytes' },
  { name: 'requests', unit: '{request}', kind: 'sum', isMonotonic: true, expected: 'requests_total' },
  { name: 'requests', unit: '{request}/min', kind: 'gauge', expected: 'requests_per_min' },
  { name: 'speed', unit: 'furlong', kind: 'gauge', expected: 'speed_furlong' },
  { name: 'namespace:rule', unit: '', kind: 'gauge', expected: 'namespace:rule' },
  { name: 'x', unit: 'constructor', kind: 'gauge', expected: 'x_constructor' },
  { name: '日本', unit: '', kind: 'gauge', expected: '' },
])('the $kind $name of unit "$unit" is called $expected', ({ expected, ...metric }) => {
  expect(metricName(metric)).toBe(expected);
});

test.each([
  ['http.method', 'http_method'],
  ['1st', 'key_1st'],
  ['_private', 'key_private'],
  ['__reserved', '__reserved'],
  ['a..b', 'a__b'],
])('the attribute %s is the label %s', (attribute, label) => {
  expect(labelName(attribute)).toBe(label);
});

test.each([
  [true, 'true'],
  [7, '7'],
  [1e21, '1e+21'],
  [1e-7, '1e-7'],
  [0.00001, '0.00001'],
  ['text', 'text'],
  [undefined, ''],
])('the attribute value %p is written %s', (value, text) => {
  expect(attributeText(value)).toBe(text);
});

test.each([
  [0.1, '0.1'],
  [10, '10'],
  [1e-7, '0.0000001'],
  [1.5e-9, '0.0000000015'],
  [1e21, '1000000000000000000000'],
  [-1.25e22, '-12500000000000000000000'],
  [Infinity, '+Inf'],
])('the bound %p is written %s', (bound, text) => {
  expect(boundText(bound)).toBe(text);
});
