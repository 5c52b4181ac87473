import { consumerLagMs } from '../../../shared/recovery/consumer-lag';
import { Watermarks } from '../../../shared/recovery/watermarks';

const NOW = 10_000_000;
const BATCH_WINDOW = 1_000;
/** A note that was written `secondsAgo`, about a record that had arrived `lag` seconds earlier. */
const noted = (secondsAgo: number, lag: number) => ({
  arrivedMs: NOW - (secondsAgo + lag) * 1000,
  lagMs: lag * 1000,
});

describe('the lag of the stream', () => {
  test.each([
    { name: 'is not known before a reader has noted anything', notes: [], lag: null },
    { name: 'is not known of a shard that has just begun', notes: [{ arrivedMs: 0, lagMs: 0 }], lag: null },
    { name: 'is zero while a reader keeps up', notes: [noted(1, 0.4)], lag: 0 },
    { name: 'stays zero when nobody has posted for 15 s', notes: [noted(15, 0.4)], lag: 0 },
    { name: 'stays zero from one heartbeat to the next', notes: [noted(75, 0.4)], lag: 0 },
    { name: 'is the age of the watermark once a heartbeat is overdue', notes: [noted(100, 0.4)], lag: 100.4 },
    { name: 'is what a reader that is behind has noted', notes: [noted(5, 40)], lag: 40 },
    { name: 'is the worst shard’s', notes: [noted(1, 0.4), noted(2, 12), noted(1, 7)], lag: 12 },
    {
      name: 'is seen by a slow clock, too: of two shards, one stopped ten minutes ago',
      notes: [noted(-720, 0.4), noted(-120, 0.4)],
      lag: 600,
    },
  ])('$name', ({ notes, lag }) => {
    expect(consumerLagMs(notes, NOW, BATCH_WINDOW)).toBe(lag === null ? null : lag * 1000);
  });
});

test('a reader notes its watermark every ten seconds, and at once when it falls behind or catches up', async () => {
  const written: string[] = [];
  const table = {
    putWatermark: async (shardId: string, { lagMs }: { lagMs: number }) => {
      written.push(`${(now - NOW) / 1000}: ${shardId} lags ${lagMs / 1000}`);
    },
  };
  let now = NOW;
  const watermarks = new Watermarks(table, () => now, BATCH_WINDOW);
  for (const [second, lag] of [
    [0, 0.5],
    [3, 0.5],
    [9, 0.5],
    [10, 0.5],
    [12, 30],
    [14, 29],
    [15, 0.5],
    [16, 0.5],
  ] as const) {
    now = NOW + second * 1000;
    await watermarks.note('shard', now - lag * 1000);
  }
  expect(written).toEqual([
    '0: shard lags 0.5',
    '10: shard lags 0.5',
    '12: shard lags 30',
    '15: shard lags 0.5',
  ]);
});
