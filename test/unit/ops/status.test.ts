import { statusText } from '../../../scripts/ops/status';

const status = {
  atMs: 0,
  stream: { behindMs: 0 },
  rules: { groups: 3, behindMs: 61_000, failing: 1, outboxMs: 30_000, dropped: 0 },
  flush: { windows: 12, oldestMs: 42_421, residencyMs: 4_200_000, behindMs: 0 },
  archive: { days: 3, openDays: 1, behindMs: 90_000, samples: 500, bytes: 700 },
  usage: {
    samples: 640,
    reads: 12,
    days: [],
    series: { active: 29, stored: 30 },
    bytes: { hot: 1776, warm: 20, cold: 700 },
    dollars: 0.5,
    cost: [],
  },
};

test('status names lag and holdings, a line a tier', () => {
  expect(statusText(status)).toBe(
    [
      'stage       behind  what it holds',
      'stream      0s      records that wait for the ingester',
      'memory      0s      12 group-windows, 1776 bytes, the oldest from 42s ago; each stays 70m',
      'warm        -       20 bytes',
      'archive     90s     500 samples, 700 bytes; 1 of 3 partition-days wait for the archiver',
      'rules       61s     3 groups of all tenants, 1 failing; the oldest unsent notification has waited 30s, 0 were given up in the last run',
      'this month  -       640 samples, 29 active of 30 series, $0.50',
    ].join('\n'),
  );
});

test('status says what is not known', () => {
  const text = statusText({
    ...status,
    stream: { behindMs: null },
    flush: { ...status.flush, windows: 0, oldestMs: null },
    archive: null,
    rules: null,
    usage: { ...status.usage, bytes: { hot: null, warm: 20, cold: null } },
  });
  expect(text).toContain('stream      unknown');
  expect(text).toContain('0 group-windows; each stays 70m');
  expect(text).toContain('rules       -        the evaluator has not run yet');
  expect(text).toContain('archive     unknown  not counted: the tenant has too many partitions');
});
