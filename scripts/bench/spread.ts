import { delayShare } from '../../shared/hot/due-score';
import { HotKeys } from '../../shared/hot/hot-keys';
import { tenantIdOf } from '../../shared/model/placement';
import { parseSettings } from '../../shared/platform/settings';
import { bench } from './frame/bench';
import { count } from './frame/options';
import { textOf } from './frame/report';

interface Delays {
  /** Shortest delay, in min, counted from one window's length after the first write. */
  readonly leastMin: number;
  readonly spreadMin: number;
}

export interface Spread extends Delays {
  /** Most samples flushed in a minute, and the mean. */
  readonly busiest: number;
  readonly mean: number;
  /** Samples in memory: mean and maximum. */
  readonly meanInMemory: number;
  readonly mostInMemory: number;
}

const MINUTE_MS = 60_000;
const WINDOW_MIN = 60;
const SERIES_OF_GROUP = 100;
/** Two hours are measured, after three hours in which memory fills. */
const MEASURED_MIN = 120;
const FILLING_MIN = 3 * WINDOW_MIN;

/**
 * Simulates groups that post every minute, each at its own second, with hourly windows and a flush every
 * minute.
 *
 * @param groups number of groups, each with {@link SERIES_OF_GROUP} series
 * @param partitions number of partitions, each of its own tenant, over which groups are divided evenly
 */
export function simulateSpread(groups: number, partitions: number, { leastMin, spreadMin }: Delays): Spread {
  const flushedIn = new Array<number>(MEASURED_MIN).fill(0);
  const held = new Array<number>(MEASURED_MIN).fill(0);
  for (let p = 0; p < partitions; p++) {
    const { due } = new HotKeys({ tenantId: tenantIdOf(`simulated-${p}`), partition: 0 });
    const size = Math.floor((groups + p) / partitions);
    let windows: { startMin: number; dueMs: number }[] = [];
    for (let minute = -FILLING_MIN; minute < MEASURED_MIN; minute++) {
      if (minute % WINDOW_MIN === 0)
        for (let g = 0; g < size; g++) {
          const firstMs = (minute + g / size) * MINUTE_MS;
          const delayMs = leastMin * MINUTE_MS + delayShare(due, windows.length) * spreadMin * MINUTE_MS;
          windows.push({ startMin: minute, dueMs: firstMs + WINDOW_MIN * MINUTE_MS + delayMs });
        }
      const staying = windows.filter(({ dueMs }) => dueMs > (minute + 1) * MINUTE_MS);
      if (minute >= 0) {
        flushedIn[minute]! += (windows.length - staying.length) * WINDOW_MIN * SERIES_OF_GROUP;
        for (const { startMin } of windows)
          held[minute]! += Math.min(WINDOW_MIN, minute - startMin + 1) * SERIES_OF_GROUP;
      }
      windows = staying;
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

/** Without spreading: all windows that start together are flushed ten minutes after their end. */
export const TOGETHER: Delays = { leastMin: 10, spreadMin: 0 };
/** Delays of the default settings. */
export const SPREAD: Delays = { leastMin: 0, spreadMin: parseSettings({}).flushDelay / MINUTE_MS };

export const spread = bench({
  name: 'spread',
  summary: 'simulation of the samples flushed per minute and held in memory',
  description:
    'Simulates two hours in which each series has a sample a minute, in windows of an hour. Shows samples flushed per minute, and samples in memory.',
  options: {
    series: count('series, a hundred a group', 1_000_000),
    partitions: count('partitions that hold them', 8),
  },
  run: async ({ series, partitions }) => {
    const delays = [
      TOGETHER,
      SPREAD,
      { leastMin: 1, spreadMin: 30 },
      { leastMin: 0, spreadMin: 15 },
      { leastMin: 0, spreadMin: 59 },
    ];
    const groups = Math.ceil(series / SERIES_OF_GROUP);
    return { rows: delays.map((each) => simulateSpread(groups, partitions, each)) };
  },
  show: ({ rows }) =>
    textOf(
      rows.map(({ leastMin, spreadMin, ...row }) => ({
        'delay after the window': `${leastMin}${spreadMin === 0 ? '' : ` to ${leastMin + spreadMin}`} min`,
        'busiest minute, samples': row.busiest,
        'times the mean': row.busiest / row.mean,
        'mean memory, %': (100 * row.meanInMemory) / rows[0]!.meanInMemory - 100,
        'most memory, %': (100 * row.mostInMemory) / rows[0]!.mostInMemory - 100,
      })),
    ),
});
