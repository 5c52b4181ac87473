import { Random } from '../../scripts/faults/random';

/** Maximum delay before a request, and again before its response, in ms. */
const LATE_MS = 150;
/** Number of delays drawn for a page. After the last one, the page begins again with the first. */
const DELAYS = 512;

/**
 * Script for a page. Each of the page's requests leaves late, and each response arrives late, by random times that the
 * seed chooses. So responses arrive in a different order than on an idle machine, and long after the page has first
 * shown something.
 *
 * @param place number of the page in its test file, so that the pages of one seed differ
 */
export function lateResponses(seed: number, place: number): string {
  const random = new Random(seed ^ Math.imul(place + 1, 0x9e3779b1));
  const delays = Array.from({ length: DELAYS }, () => random.integer(0, LATE_MS));
  return `{
  const delays = ${JSON.stringify(delays)};
  let drawn = 0;
  const { fetch: ask, setTimeout: after } = globalThis;
  const late = (signal, ms) => new Promise((resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason));
    after(resolve, ms);
  });
  globalThis.fetch = async (address, options) => {
    const [before, behind] = [delays[drawn++ % ${DELAYS}], delays[drawn++ % ${DELAYS}]];
    await late(options?.signal, before);
    const response = await ask(address, options);
    await late(options?.signal, behind);
    return response;
  };
}`;
}
