import { lostSinceMs } from '../../../shared/recovery/loss-watch';

const MINUTE_MS = 60_000;

describe('lostSinceMs', () => {
  const bad = { state: 'bad', loss: '', here: 'b', stamp: 'a' } as const;
  const inherited = (lostFromMs: number) => ({ ...bad, isExpired: false, era: 1, lostFromMs }) as const;
  test.each([
    { name: 'nothing is known: from the beginning', flushedUntilMs: 0, lost: [inherited(0)], expected: 0 },
    {
      name: 'a mark tells no arrival: from the flushed-until time, less a minute',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [inherited(0), inherited(20 * MINUTE_MS)],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'marks tell later arrivals than the flushed-until time: from the oldest of them, less a minute',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [inherited(30 * MINUTE_MS), inherited(20 * MINUTE_MS)],
      expected: 19 * MINUTE_MS,
    },
    {
      name: 'a partition was wiped: from the flushed-until time',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [{ state: 'absent', here: 'b', stamp: '' } as const, inherited(20 * MINUTE_MS)],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'frames expired: from the flushed-until time',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [{ ...bad, isExpired: true } as const, inherited(20 * MINUTE_MS)],
      expected: 9 * MINUTE_MS,
    },
    {
      name: 'every partition is lost: from the flushed-until time',
      flushedUntilMs: 10 * MINUTE_MS,
      lost: [],
      expected: 9 * MINUTE_MS,
    },
  ])('$name', ({ flushedUntilMs, lost, expected }) => {
    expect(lostSinceMs(flushedUntilMs, lost)).toBe(expected);
  });
});
