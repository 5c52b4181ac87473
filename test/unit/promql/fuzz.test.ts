import { Random } from '../../../scripts/faults/random';
import { PromqlError } from '../../../shared/promql/errors';
import { instantQuery, type QueryOptions, type QueryResult, rangeQuery } from '../../../shared/promql/query';
import { differenceFrom, PrometheusServer, type Theirs } from '../../support/prometheus-server';
import { mutated, PromqlExpressions } from '../../support/promql-expressions';
import { randomSamples } from '../../support/random-samples';

/** Number of expressions, by FUZZ_PROMQL. Each is evaluated as it is and with a few characters changed. */
const EXPRESSIONS = Number(process.env.FUZZ_PROMQL ?? 300);
const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

/**
 * Most looks at the clock in one evaluation. There is one for every few thousand points of work; the most
 * that was seen is 77.
 */
const MAX_LOOKS = 10_000;

test(`${EXPRESSIONS} expressions (FUZZ_SEED=${SEED}) are answered or refused with a typed error`, async () => {
  const random = new Random(SEED).next;
  const expressions = new PromqlExpressions(random);
  const store = randomSamples(random);
  let answered = 0;
  for (let i = 0; i < EXPRESSIONS; i++) {
    const expression = expressions.expression(5);
    for (const text of [expression, mutated(expression, random)]) {
      let looks = 0;
      const options: QueryOptions = {
        limits: { maxSeries: 1000, maxSamples: 1_000_000, maxPoints: 200_000 },
        // The evaluation looks at the clock once for every few thousand points of work.
        isLate: () => ++looks > MAX_LOOKS,
      };
      try {
        await instantQuery(store, text, 900_000, options);
        await rangeQuery(store, text, { startMs: 600_000, endMs: 1_200_000, stepMs: 30_000 }, options);
        answered++;
      } catch (error) {
        // The seed is in the test's name.
        if (!(error instanceof PromqlError)) throw new Error(`${text}: ${(error as Error).stack}`);
      }
    }
  }
  expect(answered).toBeGreaterThan(EXPRESSIONS / 4);
});

const TRIES = 30;

/** Whether Prometheus gives our answer when it is asked again. */
async function agreesLater(ask: () => Promise<Theirs>, ours: QueryResult | Error): Promise<boolean> {
  for (let i = 0; i < TRIES; i++) if (differenceFrom(await ask(), ours) === undefined) return true;
  return false;
}

/** Path of a real Prometheus 3 to compare with. Without it, the comparison does not run. */
const PROMETHEUS = process.env.PROMETHEUS ?? '';

if (PROMETHEUS !== '')
  test(`${EXPRESSIONS} expressions (FUZZ_SEED=${SEED}) are answered as Prometheus answers them`, async () => {
    const random = new Random(SEED).next;
    const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 2_400_000;
    const store = randomSamples(random, startMs);
    const expressions = new PromqlExpressions(random, [startMs / 1000 + 600, startMs / 1000 + 1000], true);
    const server = await PrometheusServer.start(PROMETHEUS);
    const differences: string[] = [];
    const options: QueryOptions = {
      limits: { maxSeries: 10_000, maxSamples: 10_000_000, maxPoints: 10_000_000 },
      isLate: () => false,
    };
    try {
      await server.write(store);
      for (let i = 0; i < EXPRESSIONS; i++) {
        const text = expressions.expression(4);
        const atMs = startMs + 900_000;
        const range = { startMs: startMs + 600_000, endMs: startMs + 1_200_000, stepMs: 47_000 };
        const ours = [
          await instantQuery(store, text, atMs, options).catch((error: Error) => error),
          await rangeQuery(store, text, range, options).catch((error: Error) => error),
        ];
        const ask = [() => server.instant(text, atMs), () => server.range(text, range)];
        for (const [of, answer] of ours.entries()) {
          const difference = differenceFrom(await ask[of]!(), answer);
          // Prometheus takes the series of an inner vector in the order of a Go map, which differs from query
          // to query.
          if (difference === undefined || (await agreesLater(ask[of]!, answer))) continue;
          differences.push(`${of === 0 ? 'instant' : 'range'} ${text}: ${difference}`);
        }
      }
    } finally {
      await server.stop();
    }
    expect(differences).toEqual([]);
  });
