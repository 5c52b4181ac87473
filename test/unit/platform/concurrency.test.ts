import { setImmediate as turn } from 'node:timers/promises';
import { anyLimiter, JoinedCalls, type Limiter, limiter } from '../../../shared/platform/concurrency';

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

test('calls of the same moment share one request by key; a later call has a request of its own', async () => {
  const requests: (readonly number[])[] = [];
  const calls = new JoinedCalls<number, number>();
  const add = (key: string, item: number) =>
    calls.add(key, item, async (items) => {
      requests.push(items);
      await turn();
      return items.map((each) => 10 * each);
    });
  const early = [add('a', 1), add('b', 2), Promise.resolve().then(() => add('a', 3))];
  expect(await Promise.all(early)).toEqual([10, 20, 30]);
  expect(await add('a', 4)).toBe(40);
  expect(requests).toEqual([[1, 3], [2], [4]]);
});

test('a call fails if its request fails', async () => {
  const calls = new JoinedCalls<number, number>();
  const fail = () => Promise.reject(new Error('no'));
  const outcomes = await Promise.allSettled([calls.add('a', 1, fail), calls.add('a', 2, fail)]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

describe('a bound that several callers share', () => {
  const refusing: Limiter = async () => {
    throw new Error('late');
  };
  const allowing: Limiter = (work) => work();

  test('starts work as long as one of the callers allows it', async () => {
    await expect(anyLimiter([refusing, allowing])(async () => 1)).resolves.toBe(1);
  });

  test("refuses work with the last caller's reason once all refuse", async () => {
    await expect(anyLimiter([refusing, refusing])(async () => 1)).rejects.toThrow('late');
  });

  test('runs failing work only once', async () => {
    let begun = 0;
    const work = async () => {
      begun++;
      throw new Error('work');
    };
    await expect(anyLimiter([allowing, allowing])(work)).rejects.toThrow('work');
    expect(begun).toBe(1);
  });
});
