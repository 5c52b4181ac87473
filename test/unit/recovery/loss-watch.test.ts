import { lostSinceMs } from '../../../shared/recovery/loss-watch';

const MINUTE_MS = 60_000;

describe('lostSinceMs', () => {
  test.each([
    { name: 'nothing is known: from the beginning', flushedUntilMs: 0, arrivedMs: [undefined], expected: 0 },
    {
      name: 'a wiped partition: from the flushed-until time, less a minute',
      flushedUntilMs: 10 * MINUTE_MS,
      arrivedMs: [undefined, 20 * MINUTE_MS],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'marks that tell a later arrival than the flushed-until time: from the oldest of them',
      flushedUntilMs: 10 * MINUTE_MS,
      arrivedMs: [30 * MINUTE_MS, 20 * MINUTE_MS],
      expected: 19 * MINUTE_MS,
    },
  ])('$name', ({ flushedUntilMs, arrivedMs, expected }) => {
    const lost = arrivedMs.map((ms) => ({ arrivedMs: ms, markedBy: 'a', isExpired: false, previous: 'a' }));
    expect(lostSinceMs(flushedUntilMs, lost)).toBe(expected);
  });

  test('of a partition that did not pass to a replica of its marked primary, from the flushed-until time', () => {
    const moved = { arrivedMs: 30 * MINUTE_MS, markedBy: 'a', isExpired: false, previous: 'b' };
    expect(lostSinceMs(10 * MINUTE_MS, [moved])).toBe(9 * MINUTE_MS);
  });

  test('of a partition whose frames expired, from the flushed-until time', () => {
    const expired = { arrivedMs: 30 * MINUTE_MS, markedBy: 'a', isExpired: true, previous: 'a' };
    expect(lostSinceMs(10 * MINUTE_MS, [expired])).toBe(9 * MINUTE_MS);
  });

  test('of every partition, from the flushed-until time', () => {
    expect(lostSinceMs(10 * MINUTE_MS, [])).toBe(9 * MINUTE_MS);
  });
});
