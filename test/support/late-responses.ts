/** Maximum delay before a request, and again before its response, in ms. */
const LATE_MS = 150;

/**
 * Script for a page: each of its requests leaves late, and each response arrives late, by a random time that the seed
 * chooses. Responses therefore come in another order than on an idle machine, and long after what the page shows first.
 *
 * @param place number of the page in its test file: pages of one seed differ
 */
export const lateResponses = (seed: number, place: number): string => `{
  let drawn = ${(seed ^ Math.imul(place + 1, 0x9e3779b1)) >>> 0};
  // Mulberry32.
  const random = () => {
    drawn = (drawn + 0x6d2b79f5) | 0;
    let t = Math.imul(drawn ^ (drawn >>> 15), 1 | drawn);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const { fetch: ask, setTimeout: after } = globalThis;
  const late = (signal, ms) => new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason));
    after(resolve, ms);
  });
  globalThis.fetch = async (address, options) => {
    const [before, behind] = [random() * ${LATE_MS}, random() * ${LATE_MS}];
    await late(options?.signal, before);
    const response = await ask(address, options);
    await late(options?.signal, behind);
    return response;
  };
}`;
