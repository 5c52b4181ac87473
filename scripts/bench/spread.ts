/** `npm run bench -- spread`: how even two hours of flushes are, and what memory that costs; simulated. */
import { Command } from 'commander';
import { groupDelayMs } from '../../shared/hot/group-delay';
import { idOf } from '../../shared/model/id';
import { groupIdOf } from '../../shared/model/placement';

interface Options {
  readonly series: string;
  readonly json?: boolean;
}

interface Delays {
  /** From a window's length after its first write on, min. */
  readonly leastMin: number;
  readonly spreadMin: number;
}

export interface Spread extends Delays {
  /** The most samples flushed in a minute, and the mean. */
  readonly busiest: number;
  readonly mean: number;
  /** Samples in memory: mean and most. */
  readonly meanInMemory: number;
  readonly mostInMemory: number;
}

const MINUTE_MS = 60_000;
const WINDOW_MIN = 60;
const SERIES_OF_GROUP = 100;
/** Two hours are measured after as many in which memory fills. */
const MEASURED_MIN = 120;

/**
 * Simulates groups that post every minute: windows of an hour, each flushed in the first minute in which it is due.
 *
 * @param groups each with {@link SERIES_OF_GROUP} series
 */
export function simulateSpread(groups: number, { leastMin, spreadMin }: Delays): Spread {
  const flushedIn = new Array<number>(MEASURED_MIN).fill(0);
  const held = new Array<number>(MEASURED_MIN).fill(0);
  for (let g = 0; g < groups; g++) {
    const group = groupIdOf(idOf('simulated group', String(g)), 0, 0);
    // Its first sample of a window comes within the window's first minute.
    const delayMin =
      leastMin + (groupDelayMs(group, spreadMin * MINUTE_MS) + ((g * 7919) % MINUTE_MS)) / MINUTE_MS;
    for (let start = -3 * WINDOW_MIN; start < MEASURED_MIN; start += WINDOW_MIN) {
      const flushed = Math.ceil(start + WINDOW_MIN + delayMin);
      if (flushed >= 0 && flushed < MEASURED_MIN) flushedIn[flushed]! += WINDOW_MIN * SERIES_OF_GROUP;
      for (let minute = Math.max(0, start); minute < Math.min(flushed, MEASURED_MIN); minute++)
        held[minute]! += Math.min(WINDOW_MIN, minute - start + 1) * SERIES_OF_GROUP;
    }
  }
  const sum = (values: readonly number[]) => values.reduce((total, each) => total + each, 0);
  return {
    leastMin,
    spreadMin,
    busiest: Math.max(...flushedIn),
    mean: sum(flushedIn) / MEASURED_MIN,
    meanInMemory: sum(held) / MEASURED_MIN,
    mostInMemory: Math.max(...held),
  };
}

/** All windows that begin together leave ten minutes after their end, as before delays were spread. */
export const TOGETHER: Delays = { leastMin: 10, spreadMin: 0 };
/** The defaults: a minute, and up to 34 more by group. */
export const BY_GROUP: Delays = { leastMin: 1, spreadMin: 34 };

/** @param args what follows `spread` on the command line */
export async function benchSpread(args: string[]): Promise<void> {
  const command = new Command('bench spread')
    .description(
      'Simulates two hours of a sample a minute, in windows of an hour: samples flushed a minute, and memory.',
    )
    .option('--series <n>', 'series, a hundred a group', '1000000')
    .option('--json', 'one object on stdout, as the last line');
  command.parse(args, { from: 'user' });
  const { series, json } = command.opts<Options>();
  const groups = Math.ceil(Number(series) / SERIES_OF_GROUP);
  const rows = [TOGETHER, BY_GROUP, { leastMin: 1, spreadMin: 17 }, { leastMin: 1, spreadMin: 59 }].map(
    (delays) => simulateSpread(groups, delays),
  );
  const [together] = rows as [Spread, ...Spread[]];
  const share = (of: keyof Spread, row: Spread) => `${((100 * row[of]) / together[of] - 100).toFixed(0)} %`;
  console.log(
    '| delay after the window | busiest minute, samples | times the mean | mean memory | most memory |',
  );
  console.log('| --- | --- | --- | --- | --- |');
  for (const row of rows)
    console.log(
      `| ${row.leastMin}${row.spreadMin === 0 ? '' : ` to ${row.leastMin + row.spreadMin}`} min | ${(row.busiest / 1e6).toFixed(2)} M | ${(row.busiest / row.mean).toFixed(2)} | ${share('meanInMemory', row)} | ${share('mostInMemory', row)} |`,
    );
  if (json) process.stdout.write(`${JSON.stringify({ rows })}\n`);
}
