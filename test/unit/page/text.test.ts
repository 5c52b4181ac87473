import { parseServerTiming } from '../../../functions/page/browser/api/server-timing';
import { csvOf, csvOfRows } from '../../../functions/page/browser/graphs/csv';
import {
  axisLabels,
  counted,
  dateTimeText,
  formatDuration,
  formatTime,
  formatValue,
  parseDateTime,
} from '../../../functions/page/browser/view/format';
import { partsOf } from '../../../functions/page/browser/view/name-parts';

test.each([
  [0, 'float', '0'],
  [0.123456, 'float', '0.123'],
  [1234.5, 'float', '1.23k'],
  [999.99, 'integer', '1k'],
  [-12.345, 'percentage', '-12.35%'],
  [1536, 'bytes', '1.5 KiB'],
  [20 * 1024 ** 3, 'bytes', '20 GiB'],
  [1e6, 'bits/sec', '1 Mbit/s'],
  [12, 'iops', '12 /s'],
  [12, 'seconds', '12 s'],
  [0.0025, 'seconds', '2.5 ms'],
  [1e-9, 'seconds', '1 ns'],
  [1e300, 'float', '1e300'],
  [-1.2345e-7, 'float', '-1.23e-7'],
  [1e30, 'bytes', '1e30 B'],
  [2e9, 'percentage', '2e9%'],
] as const)('%d as %s is %s', (value, unit, text) => {
  expect(formatValue(value, unit)).toBe(text);
});

test.each([
  { value: -1_000_000.04, spread: 0.2, text: '-1000000.04' },
  { value: 123_456_789_012, spread: 10, text: '123456789012' },
  { value: 2.7254, spread: 0.05, text: '2.7254' },
  { value: 4_000_000_000, spread: 2e8, text: '4G' },
  { value: 3_951_200_000, spread: 2e8, text: '3.9512G' },
  { value: 1234.5, spread: 2000, text: '1.23k' },
  { value: 1234.5, spread: 0, text: '1.23k' },
  { value: 100.00000000000001, spread: 2.8e-14, text: '100' },
])('$value among values that spread over $spread is $text', ({ value, spread, text }) => {
  expect(formatValue(value, 'float', spread)).toBe(text);
});

test('bytes that differ little keep their prefix', () => {
  expect(formatValue(8_001_000_000, 'bytes', 29e6)).toBe('7.45151 GiB');
});

test.each([
  [1_795_248_000, '2026-11-21 08:00:00'],
  [1_795_248_000_000, '+058859-02-22 08:00:00'],
  [8.64e12, '8640000000000 s since 1970'],
  [-1e15, '-1000000000000000 s since 1970'],
])('Unix time %d is %s', (seconds, text) => {
  expect(formatTime(seconds, true)).toBe(text);
});

test.each([
  [0, 'under 1 s'],
  [59_600, '1 min'],
  [200_000, '3 min 20 s'],
  [3_600_000, '1 h'],
  [90_061_000, '1 d 1 h'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('a time axis shows the date where a day begins', () => {
  const midnight = Date.parse('2026-11-21T00:00:00Z') / 1000;
  expect(axisLabels([midnight - 3600, midnight, midnight + 3600], 3600, true)).toEqual([
    '23:00',
    '11-21',
    '01:00',
  ]);
  expect(axisLabels([midnight, midnight + 86_400], 86_400, true)).toEqual(['11-21', '11-22']);
  expect(axisLabels([midnight + 10], 10, true)).toEqual(['00:00:10']);
});

test.each([true, false])('a date and time reads back as it was written, in UTC: %s', (utc) => {
  const timeS = Date.parse('2026-03-29T01:30:00Z') / 1000;
  expect(parseDateTime(dateTimeText(timeS, utc), utc)).toBe(timeS);
  expect(parseDateTime('2026-03-29', utc)).toBeUndefined();
  expect(parseDateTime('', utc)).toBeUndefined();
});

test('a CSV has a line for each time, and an empty field where a series has no sample', () => {
  expect(
    csvOf(['a', 'b,"c"'], {
      times: [0, 60.5],
      values: [
        [1, null],
        [-0.5, 1e21],
      ],
    }),
  ).toBe('time,a,"b,""c"""\r\n1970-01-01T00:00:00.000Z,1,-0.5\r\n1970-01-01T00:01:00.500Z,,1e+21\r\n');
});

test('a CSV of rows has a column for each label', () => {
  const rows: Parameters<typeof csvOfRows>[0] = [
    { labels: { job: 'a' }, value: '1' },
    { labels: { job: 'b,c', code: '200' }, value: '+Inf' },
  ];
  expect(csvOfRows(rows)).toBe('job,code,value\r\na,,1\r\n"b,c",200,+Inf\r\n');
});

test.each([
  { count: 0, text: '0 samples' },
  { count: 1, text: '1 sample' },
  { count: 1200, text: '1,200 samples' },
])('$text', ({ count, text }) => {
  expect(counted(count, 'sample')).toBe(text);
});

test.each([
  { name: 'http_requests_total', parts: ['http_', 'requests_', 'total'] },
  { name: 'instance=a:9100,job=b', parts: ['instance=', 'a:', '9100,', 'job=', 'b'] },
  { name: 'cpu', parts: ['cpu'] },
  { name: '', parts: [''] },
])('the name "$name" breaks between its parts', ({ name, parts }) => {
  expect(partsOf(name)).toEqual(parts);
});

test('Server-Timing names the samples of each tier, and their spans if it has them', () => {
  const header =
    'hot;dur=1.5;desc="2 samples";spans="60-120 300-300", warm;dur=0.0;desc="0 samples";spans="", cold;dur=9.1;desc="7 samples"';
  expect(parseServerTiming(header)).toEqual([
    {
      tier: 'hot',
      samples: 2,
      spans: [
        { fromS: 60, toS: 120 },
        { fromS: 300, toS: 300 },
      ],
    },
    { tier: 'warm', samples: 0, spans: [] },
    { tier: 'cold', samples: 7, spans: [] },
  ]);
  expect(parseServerTiming('nonsense')).toEqual([]);
});
