import { labelsOf } from '../../../shared/model/labels';
import { PromqlError } from '../../../shared/promql/errors';
import { instantQuery, type QueryOptions, rangeQuery } from '../../../shared/promql/query';
import { MemorySamples, STALE } from '../../support/memory-samples';
import { PromqlExpressions } from '../../support/promql-expressions';

/** Expressions, by FUZZ_PROMQL; each is evaluated as it is and with a few characters changed. */
const EXPRESSIONS = Number(process.env.FUZZ_PROMQL ?? 300);
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const VALUES = [0, 1, 2, 3, 10, 1e300, -1, Number.NaN, Number.POSITIVE_INFINITY, STALE] as const;

/** Series with gaps, resets, stale markers, NaN and infinities. */
function randomSamples(random: () => number): MemorySamples {
  const store = new MemorySamples();
  for (const name of ['x', 'y_total', 'h_bucket', 'q'])
    for (const a of ['1', '2', '3'])
      for (const le of name === 'h_bucket' ? ['0.5', '2', '+Inf'] : ['']) {
        const labels = labelsOf(['__name__', name], ['a', a], ...(le === '' ? [] : [['le', le] as const]));
        for (let ms = 0; ms < 1_800_000; ms += 15_000)
          if (random() < 0.8) store.add(labels, ms, VALUES[Math.floor(random() * VALUES.length)]!);
      }
  return store;
}

function mutated(text: string, random: () => number): string {
  const characters = [...text];
  const alphabet = '()[]{},"\'`=!~<>+-*/%^@:.#0159eExmsabyon \n\\_😀';
  for (let i = 0; i < 1 + random() * 3; i++) {
    const at = Math.floor(random() * characters.length);
    const added = [...alphabet][Math.floor(random() * [...alphabet].length)]!;
    characters.splice(at, random() < 0.6 ? 1 : 0, ...(random() < 0.6 ? [added] : []));
  }
  return characters.join('');
}

test(`${EXPRESSIONS} expressions (FUZZ_SEED=${SEED}) are answered or refused with a typed error, in time`, async () => {
  const random = randomOf(SEED);
  const expressions = new PromqlExpressions(random);
  const store = randomSamples(random);
  let answered = 0;
  for (let i = 0; i < EXPRESSIONS; i++) {
    const expression = expressions.expression(5);
    for (const text of [expression, mutated(expression, random)]) {
      const begin = performance.now();
      const options: QueryOptions = {
        limits: { maxSeries: 1000, maxSamples: 1_000_000, maxPoints: 200_000 },
        isLate: () => performance.now() - begin > 2000,
      };
      try {
        await instantQuery(store, text, 900_000, options);
        await rangeQuery(store, text, { startMs: 600_000, endMs: 1_200_000, stepMs: 30_000 }, options);
        answered++;
      } catch (error) {
        // The seed is in the test's name.
        if (!(error instanceof PromqlError)) throw new Error(`${text}: ${(error as Error).stack}`);
      }
      expect([text, performance.now() - begin < 5000]).toEqual([text, true]);
    }
  }
  expect(answered).toBeGreaterThan(EXPRESSIONS / 4);
}, 3_600_000);
