import { ACTORS, type SimulationOptions, type SimulationResult, simulate } from './run';

/** The smallest failing run that the search has found. */
export interface Shrunk {
  readonly options: SimulationOptions;
  readonly result: SimulationResult;
  readonly runs: number;
}

/**
 * Makes a failing run smaller as long as it still fails: fewer hosts and series, no faults, fewer actors. The number of
 * days need not be searched, because a run ends on the day of its first flaw. A smaller run may fail in a different
 * way, which is just as useful.
 *
 * @param options options of a run that has flaws
 * @param result result of this run
 */
export async function shrink(
  options: SimulationOptions,
  result: SimulationResult,
  run: typeof simulate = simulate,
): Promise<Shrunk> {
  let best: Shrunk = { options: { ...options, days: result.ended }, result, runs: 0 };
  let runs = 0;
  const attempt = async (change: Partial<SimulationOptions>, what: string): Promise<boolean> => {
    const smaller = { ...best.options, ...change, report: () => {}, onTrace: undefined };
    runs++;
    const found = await run(smaller);
    const fails = found.flaws.length > 0;
    options.report(`without ${what}: ${fails ? `fails on day ${found.ended}` : 'clean'}`);
    if (fails) best = { options: { ...smaller, days: found.ended }, result: found, runs };
    return fails;
  };

  if (options.faults) await attempt({ faults: false }, 'faults');
  for (const size of ['hosts', 'series'] as const)
    while (
      best.options[size] > 1 &&
      (await attempt({ [size]: best.options[size] >> 1 }, `half of the ${size}`))
    );

  // Try leaving out halves first, then smaller groups, as in delta debugging.
  let left = ACTORS.map(({ name }) => name).filter((name) => (best.result.acts[name] ?? 0) > 0);
  for (let size = left.length >> 1; size >= 1; size >>= 1)
    for (let at = 0; at < left.length; ) {
      const group = left.slice(at, at + size);
      const without = [...best.options.without, ...group];
      if (await attempt({ without }, group.join(', '))) left = left.filter((name) => !group.includes(name));
      else at += size;
    }
  return { ...best, runs };
}

/** Returns the command that reproduces a run. */
export function commandOf({
  seed,
  days,
  hosts,
  series,
  every,
  tick,
  pace,
  faults,
  without,
  plant,
}: SimulationOptions): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  return [
    `npm run simulate -- --seed ${seed} --days ${days} --hosts ${hosts} --series ${series}`,
    `--every ${every} --tick ${tick} --pace ${pace}`,
    ...(faults ? [] : ['--no-faults']),
    ...(plant === undefined ? [] : [`--plant ${quoted(plant)}`]),
    ...(without.length === 0 ? [] : [`--without ${without.map(quoted).join(' ')}`]),
  ].join(' ');
}
