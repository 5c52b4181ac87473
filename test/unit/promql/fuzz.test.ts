import { Random } from '../../../scripts/faults/random';
import { PromqlError } from '../../../shared/promql/errors';
import { instantQuery, type QueryOptions, type QueryResult, rangeQuery } from '../../../shared/promql/query';
import { IS_LONG } from '../../support/long';
import { differenceFrom, PrometheusServer, type Theirs } from '../../support/prometheus-server';
import { HOURS, mutated, PromqlExpressions } from '../../support/promql-expressions';
import { FOUR_DAYS, randomSamples } from '../../support/random-samples';
import { RolledStore } from '../../support/rolled-store';
import { SEED } from '../../support/seed';

/** Number of expressions. Each is evaluated unchanged and with a few characters changed. */
const EXPRESSIONS = IS_LONG ? 100_000 : 300;

/**
 * Maximum number of times that one evaluation checks the clock. It does so once for every few thousand points of work.
 * The largest number seen is 77.
 */
const MAX_LOOKS = 10_000;

test(`${EXPRESSIONS} expressions (SEED=${SEED}) are answered or refused with a typed error`, async () => {
  const random = new Random(SEED).next;
  const expressions = new PromqlExpressions(random);
  const store = randomSamples(random);
  let answered = 0;
  for (let i = 0; i < EXPRESSIONS; i++) {
    const expression = expressions.expression(5);
    for (const text of [expression, mutated(expression, random)]) {
      let looks = 0;
      const options: QueryOptions = {
        limits: { maxSeries: 1000, maxSamples: 1_000_000, maxValues: 200_000 },
        // The evaluation checks the clock once for every few thousand points of work.
        isLate: () => ++looks > MAX_LOOKS,
      };
      try {
        await instantQuery(store, text, 900_000, options);
        await rangeQuery(store, text, { startMs: 600_000, endMs: 1_200_000, stepMs: 30_000 }, options);
        answered++;
      } catch (error) {
        // The name of the test contains the seed.
        if (!(error instanceof PromqlError)) throw new Error(`${text}: ${(error as Error).stack}`);
      }
    }
  }
  expect(answered).toBeGreaterThan(EXPRESSIONS / 4);
});

const TRIES = 30;

/** Whether Prometheus returns our answer when it evaluates the expression again. */
async function agreesLater(ask: () => Promise<Theirs>, ours: QueryResult | Error): Promise<boolean> {
  for (let i = 0; i < TRIES; i++) if (differenceFrom(await ask(), ours) === undefined) return true;
  return false;
}

/** Path of a real Prometheus 3 to compare with. Without it, the comparison does not run. */
const PROMETHEUS = process.env.PROMETHEUS ?? '';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOW = Date.now();

/** The samples over which answers are compared: some minutes, and some days that have rollups of hours and days. */
const WORLDS = [
  {
    samples: 'samples',
    startMs: Math.floor(NOW / MINUTE) * MINUTE - 40 * MINUTE,
    storeOf: (random: () => number, startMs: number) => randomSamples(random, startMs),
    range: { fromMs: 10 * MINUTE, toMs: 20 * MINUTE, stepMs: 47_000 },
    lengths: undefined,
  },
  {
    samples: 'rolled-up days',
    startMs: Math.floor(NOW / DAY - 8) * DAY,
    storeOf: (random: () => number, startMs: number) => {
      const store = new RolledStore();
      randomSamples(random, startMs, FOUR_DAYS, store.memory);
      return store;
    },
    range: { fromMs: DAY, toMs: 3 * DAY, stepMs: HOUR },
    lengths: HOURS,
  },
];

if (PROMETHEUS !== '')
  test.each(WORLDS)(
    `${EXPRESSIONS} expressions over $samples (SEED=${SEED}) are answered as Prometheus answers them`,
    async ({ samples, startMs, storeOf, range: { fromMs, toMs, stepMs }, lengths }) => {
      const random = new Random(SEED).next;
      const store = storeOf(random, startMs);
      const range = { startMs: startMs + fromMs, endMs: startMs + toMs, stepMs };
      const atMs = (range.startMs + range.endMs) / 2;
      const atSeconds = [range.startMs / 1000, atMs / 1000];
      const expressions = new PromqlExpressions(random, atSeconds, true, lengths);
      const server = await PrometheusServer.start(PROMETHEUS);
      const differences: string[] = [];
      const options: QueryOptions = {
        limits: { maxSeries: 10_000, maxSamples: 10_000_000, maxValues: 10_000_000 },
        isLate: () => false,
        rollups: { grainsMs: [HOUR, DAY], leastRangeMs: 0 },
      };
      let fromRollups = 0;
      try {
        await server.write(store instanceof RolledStore ? store.memory : store);
        for (let i = 0; i < EXPRESSIONS; i++) {
          const text = expressions.expression(4);
          const before = store instanceof RolledStore ? store.points : 0;
          const ask = [() => server.instant(text, atMs), () => server.range(text, range)];
          // Prometheus evaluates the expression in the meantime.
          const theirs = ask.map((send) => send());
          const ours = [
            await instantQuery(store, text, atMs, options).catch((error: Error) => error),
            await rangeQuery(store, text, range, options).catch((error: Error) => error),
          ];
          if (store instanceof RolledStore && store.points > before) fromRollups++;
          for (const [of, answer] of ours.entries()) {
            const difference = differenceFrom(await theirs[of]!, answer);
            // Prometheus takes the series of an inner vector in the order of a Go map, which differs from query
            // to query.
            if (difference === undefined || (await agreesLater(ask[of]!, answer))) continue;
            differences.push(`${of === 0 ? 'instant' : 'range'} ${text}: ${difference}`);
          }
          if ((i + 1) % 1_000 === 0)
            process.stdout.write(`${i + 1} over ${samples}, ${differences.length} differ\n`);
        }
      } finally {
        await server.stop();
      }
      expect(differences).toEqual([]);
      if (store instanceof RolledStore) expect(fromRollups).toBeGreaterThan(EXPRESSIONS / 4);
    },
  );
