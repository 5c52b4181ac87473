import pLimit from 'p-limit';
import pMap from 'p-map';

/**
 * Runs `work` on every item, on at most `most` items at the same time.
 *
 * @returns the results in the order of the items
 * @throws the first error, after which no further item is started
 */
export function mapLimited<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  // If all items may start at once, start them without a queue, because queueing would take longer than a short piece
  // of work.
  if (items.length <= most) return Promise.all(items.map(work));
  return pMap(items, work, { concurrency: most });
}

/**
 * Runs a piece of work once fewer than a fixed number of pieces are in progress. Waiting work starts in the
 * order of arrival.
 */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** Makes a limiter, which several callers can share. For the items of one list, use {@link mapLimited}. */
export const limiter: (most: number) => Limiter = pLimit;

/**
 * Combines several limiters, such as the budgets of callers that share the work, into one. The combined limiter tries
 * them in turn until one starts the work. A limiter refuses work by throwing. If all refuse, the combined limiter
 * throws the last error.
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
 * Joins calls with the same key into one request, if they are made in the same turn of the event loop. The
 * request starts after the last of these calls.
 */
export class JoinedCalls<Item, Result> {
  private readonly waiting = new Map<
    string,
    { readonly items: Item[]; readonly results: Promise<readonly Result[]> }
  >();

  /**
   * Adds an item to the request of a key.
   *
   * @param run makes the request; it must return a result for each item, in order
   * @returns the result of the item
   */
  add(key: string, item: Item, run: (items: readonly Item[]) => Promise<readonly Result[]>): Promise<Result> {
    let request = this.waiting.get(key);
    if (request === undefined) {
      const items: Item[] = [];
      const results = new Promise<void>((begin) => setImmediate(begin)).then(() => {
        this.waiting.delete(key);
        return run(items);
      });
      request = { items, results };
      this.waiting.set(key, request);
    }
    const index = request.items.push(item) - 1;
    return request.results.then((results) => results[index]!);
  }
}

/**
 * Lets calls with the same key share one request and its result, if they are made in the same turn of the
 * event loop. The request starts after the last of these calls.
 */
export class SharedCalls<Result> {
  private readonly calls = new JoinedCalls<undefined, Result>();

  /**
   * Returns the result of the request for a key.
   *
   * @param run makes the request; called once for all calls that share it
   */
  share(key: string, run: () => Promise<Result>): Promise<Result> {
    return this.calls.add(key, undefined, async (items) => {
      const result = await run();
      return items.map(() => result);
    });
  }
}

/**
 * Runs one piece of work at a time for many callers. Callers that arrive during a run share the next run, because the
 * current run may have read the state before they arrived.
 */
export class SerialCalls<T> {
  private running: Promise<T> | undefined;
  private next: Promise<T> | undefined;

  constructor(private readonly work: () => Promise<T>) {}

  run(): Promise<T> {
    if (this.running === undefined) {
      const running = this.work().finally(() => {
        this.running = undefined;
      });
      this.running = running;
      return running;
    }
    this.next ??= this.running
      .catch(() => {})
      .then(() => {
        this.next = undefined;
        return this.run();
      });
    return this.next;
  }
}
