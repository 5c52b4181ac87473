import { lostSinceMs } from '../../../shared/recovery/loss-watch';

const MINUTE_MS = 60_000;

describe('lostSinceMs', () => {
  test.each([
    { name: 'nothing is known: from the beginning', flushedMs: 0, arrivedMs: [undefined], expected: 0 },
    {
      name: 'a wiped partition: from the flushers’ watermark, less a minute',
      flushedMs: 10 * MINUTE_MS,
      arrivedMs: [undefined, 20 * MINUTE_MS],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'marks that tell a later arrival than the watermark: from the oldest of them',
      flushedMs: 10 * MINUTE_MS,
      arrivedMs: [30 * MINUTE_MS, 20 * MINUTE_MS],
      expected: 19 * MINUTE_MS,
    },
  ])('$name', ({ flushedMs, arrivedMs, expected }) => {
    const lost = arrivedMs.map((ms) => ({ arrivedMs: ms, markedBy: 'a', previous: 'a' }));
    expect(lostSinceMs(flushedMs, lost)).toBe(expected);
  });

  test('of a partition that did not pass to a replica of its marked primary, from the flushers’ watermark', () => {
    const moved = { arrivedMs: 30 * MINUTE_MS, markedBy: 'a', previous: 'b' };
    expect(lostSinceMs(10 * MINUTE_MS, [moved])).toBe(9 * MINUTE_MS);
  });

  test('of every partition, from the flushers’ watermark', () => {
    expect(lostSinceMs(10 * MINUTE_MS, [])).toBe(9 * MINUTE_MS);
  });
});
