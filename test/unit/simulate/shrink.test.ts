import { PLANTED } from '../../../scripts/simulate/planted';
import type { SimulationOptions, SimulationResult } from '../../../scripts/simulate/run';
import { commandOf, shrink } from '../../../scripts/simulate/shrink';
import { changing } from '../../../scripts/simulate/source-changes';

const options: SimulationOptions = {
  seed: 3,
  days: 20,
  hosts: 8,
  series: 4,
  every: 5,
  tick: 4,
  pace: 1,
  faults: true,
  without: [],
  report: () => {},
};

/** A run that fails only with purges, deletions and at least two hosts. */
const run = async ({ without, hosts, seed, days }: SimulationOptions): Promise<SimulationResult> => {
  const isFailing = hosts >= 2 && !without.includes('purge') && !without.includes('samples are deleted');
  const acts = ['purge', 'samples are deleted', 'drain', 'replay'].filter((name) => !without.includes(name));
  return {
    seed,
    days,
    ended: 6,
    flaws: isFailing ? ['a flaw'] : [],
    acts: Object.fromEntries(acts.map((name) => [name, 1])),
  } as unknown as SimulationResult;
};

test('a failing run is made as small as it still fails, and its command repeats it', async () => {
  const smallest = await shrink(options, await run(options), run);
  expect(smallest.options).toMatchObject({ days: 6, hosts: 2, series: 1, faults: false });
  expect([...smallest.options.without].sort()).toEqual(['drain', 'replay']);
  expect(commandOf(smallest.options)).toBe(
    "npm run simulate -- --seed 3 --days 6 --hosts 2 --series 1 --every 5 --tick 4 --pace 1 --no-faults --without 'drain' 'replay'",
  );
});

test.each(Object.keys(PLANTED))('the code still has the place of a planted bug: %s', (bug) => {
  expect(() => changing(PLANTED[bug]!.changes)).not.toThrow();
});
