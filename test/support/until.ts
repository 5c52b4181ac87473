/**
 * How long a test waits for a condition, in ms. On an idle machine, conditions become true within seconds. The time-out
 * of a test (jest.config.ts) is longer.
 */
export const PATIENCE_MS = 10 * 60_000;

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
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const seen = await look();
    if (isTrue(seen)) return seen;
    if (Date.now() > deadline)
      throw new Error(
        `${what}: not within ${PATIENCE_MS / 60_000} minutes; last seen ${JSON.stringify(seen)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
