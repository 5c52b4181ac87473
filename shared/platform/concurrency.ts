import pLimit from 'p-limit';
import pMap from 'p-map';

/**
 * Runs `work` on every item, at most `most` at a time.
 *
 * @returns the results in the order of the items
 * @throws the first error, after which no further item is started
 */
export async function mapLimited<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  // Start all at once, without a queue: for short work, the queue would take longer than the work itself.
  if (items.length <= most) return Promise.all(items.map(work));
  return pMap(items, work, { concurrency: most });
}

/** Runs work while fewer than a maximum number are running. Waiting work starts in the order of arrival. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** Makes a limiter that several callers can share. {@link mapLimited} limits the work on a single list. */
export const limiter: (most: number) => Limiter = pLimit;

/**
 * Runs work under one of several callers' limiters. Tries them in turn until one starts the work; a limiter
 * may refuse by throwing. Throws the last refusal, or the work's own error.
 */
export function anyLimiter(bounds: readonly Limiter[]): Limiter {
  return async (work) => {
    for (let i = 0; i < bounds.length; i++) {
      let hasBegun = false;
      try {
        return await bounds[i]!(() => {
          hasBegun = true;
          return work();
        });
      } catch (error) {
        if (hasBegun || i === bounds.length - 1) throw error;
      }
    }
    return work();
  };
}

/**
 * Batches concurrent calls by key, so that one request serves them. The request starts after all of its
 * calls.
 */
export class Batches<Item, Result> {
  private readonly waiting = new Map<
    string,
    { readonly items: Item[]; readonly results: Promise<readonly Result[]> }
  >();

  /** Returns the item's result. `run` must return one result for each item of the batch. */
  async add(
    key: string,
    item: Item,
    run: (items: readonly Item[]) => Promise<readonly Result[]>,
  ): Promise<Result> {
    let batch = this.waiting.get(key);
    if (batch === undefined) {
      const items: Item[] = [];
      const results = new Promise<void>((begin) => setImmediate(begin)).then(() => {
        this.waiting.delete(key);
        return run(items);
      });
      batch = { items, results };
      this.waiting.set(key, batch);
    }
    const index = batch.items.push(item) - 1;
    return (await batch.results)[index]!;
  }
}

/** Lets concurrent calls with the same key share one request. The request starts after all of its calls. */
export class SharedCalls<Result> {
  private readonly batches = new Batches<undefined, Result>();

  /** @param run makes the request; called once for all calls with the key */
  ask(key: string, run: () => Promise<Result>): Promise<Result> {
    return this.batches.add(key, undefined, async (items) => {
      const result = await run();
      return items.map(() => result);
    });
  }
}
