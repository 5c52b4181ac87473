import { parseDurationMs, plainText, promqlDurationText, valueText } from '../../../shared/promql/numbers';

test.each([
  [1, '1', '1'],
  [0.1, '0.1', '0.1'],
  [-0, '-0', '-0'],
  [1e-6, '0.000001', '0.000001'],
  [1e-7, '1e-07', '0.0000001'],
  [-1.25e-7, '-1.25e-07', '-0.000000125'],
  [123456789012345680000, '123456789012345680000', '123456789012345680000'],
  [1e21, '1e+21', '1000000000000000000000'],
  [1.5e300, '1.5e+300', `15${'0'.repeat(299)}`],
  [Number.POSITIVE_INFINITY, '+Inf', '+Inf'],
  [Number.NEGATIVE_INFINITY, '-Inf', '-Inf'],
  [Number.NaN, 'NaN', 'NaN'],
])('%s prints as Go prints it', (value, text, plain) => {
  expect(valueText(value)).toBe(text);
  expect(plainText(value)).toBe(plain);
});

test.each([
  ['5m', 300_000, '5m'],
  ['90s', 90_000, '1m30s'],
  ['1y2w3d4h5m6s7ms', 33_019_506_007, '382d4h5m6s7ms'],
  ['14d', 1_209_600_000, '2w'],
  ['0s', 0, '0s'],
])('%s is a duration', (text, ms, printed) => {
  expect(parseDurationMs(text)).toBe(ms);
  expect(promqlDurationText(ms)).toBe(printed);
});

test.each(['', '5', 'm', '1h1h', '5m1h', '1.5h', '-5m'])('%j is no duration', (text) => {
  expect(parseDurationMs(text)).toBe(`not a valid duration string: ${JSON.stringify(text)}`);
});
