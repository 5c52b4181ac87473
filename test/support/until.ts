/**
 * How long a test waits for a condition. A quiet machine takes seconds. The time-out of a test
 * (jest.config.ts) is longer.
 */
export const PATIENCE_MS = 10 * 60_000;

/**
 * Times between two looks, in ms. They grow with the time waited, because each look costs the stack CPU that its
 * work needs, too.
 */
const [SHORTEST_MS, LONGEST_MS, SHARE] = [20, 250, 0.1];

/**
 * Waits for a condition instead of a fixed time.
 *
 * @throws with the last value seen, if the condition is not true after {@link PATIENCE_MS}
 */
export async function until<T>(
  what: string,
  look: () => Promise<T>,
  isTrue: (seen: T) => boolean,
): Promise<T> {
  const began = Date.now();
  for (;;) {
    const seen = await look();
    if (isTrue(seen)) return seen;
    const waitedMs = Date.now() - began;
    if (waitedMs > PATIENCE_MS)
      throw new Error(
        `${what}: not within ${PATIENCE_MS / 60_000} minutes; last seen ${JSON.stringify(seen)}`,
      );
    const restMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, SHARE * waitedMs));
    await new Promise((resolve) => setTimeout(resolve, restMs));
  }
}
