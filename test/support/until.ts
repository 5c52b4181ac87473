/**
 * Waits for a condition, never for time.
 *
 * @throws with the last value seen, if the condition is not true within `timeoutMs`
 */
export async function until<T>(
  what: string,
  look: () => Promise<T>,
  isTrue: (seen: T) => boolean,
  timeoutMs = 10_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (isTrue(seen)) return seen;
    if (Date.now() > deadline)
      throw new Error(`${what}: not within ${timeoutMs} ms; last seen ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
