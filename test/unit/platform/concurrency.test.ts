import { setImmediate as turn } from 'node:timers/promises';
import { limiter } from '../../../shared/platform/concurrency';

test('a limiter runs as many as it may at a time, in order, and goes on after a failure', async () => {
  const limit = limiter(2);
  let running = 0;
  let highest = 0;
  const started: number[] = [];
  const work = (i: number) =>
    limit(async () => {
      started.push(i);
      highest = Math.max(highest, ++running);
      await turn();
      running--;
      if (i === 1) throw new Error('one fails');
      return i;
    });
  const outcomes = await Promise.allSettled(Array.from({ length: 7 }, (_, i) => work(i)));
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(highest).toBe(2);
  expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([
    true,
    false,
    true,
    true,
    true,
    true,
    true,
  ]);
});
