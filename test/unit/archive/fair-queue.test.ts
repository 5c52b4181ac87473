import { FairQueue } from '../../../shared/archive/fair-queue';

/** Drains a queue. Each piece of work lasts until the test calls `end` for it. */
function begin(work: readonly (readonly string[])[], workers: number) {
  const running = new Map<string, () => void>();
  const begun: string[] = [];
  const drained = new FairQueue(work).drain(workers, (item) => {
    begun.push(item);
    return new Promise((resolve) => running.set(item, resolve));
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    begun,
    drained,
    async end(item: string) {
      running.get(item)!();
      running.delete(item);
      await settle();
    },
  };
}

describe('a fair queue', () => {
  test('begins with one piece of work of each owner', () => {
    expect(begin([['a1', 'a2', 'a3'], ['b1'], ['c1']], 3).begun).toEqual(['a1', 'b1', 'c1']);
  });

  test('gives all workers to an owner that is alone', () => {
    expect(begin([['a1', 'a2', 'a3']], 2).begun).toEqual(['a1', 'a2']);
  });

  test('goes on with other owners while one owner’s work takes long', async () => {
    const queue = begin([['a1', 'a2'], ['b1', 'b2', 'b3'], ['c1']], 2);
    await queue.end('b1');
    await queue.end('c1');
    await queue.end('b2');
    await queue.end('b3');
    // Only now does the first owner get a second worker.
    expect(queue.begun).toEqual(['a1', 'b1', 'c1', 'b2', 'b3', 'a2']);
  });

  test('does every piece of work once', async () => {
    const done: number[] = [];
    await new FairQueue([[1, 2, 3], [], [4]]).drain(8, async (item) => {
      done.push(item);
    });
    expect(done.sort()).toEqual([1, 2, 3, 4]);
  });
});
