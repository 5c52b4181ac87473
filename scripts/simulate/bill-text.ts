import { dollarsOf, gb } from '../../shared/cost/cost-line';
import { HOURS_OF_MONTH } from '../../shared/platform/prices';
import { table } from '../ops/table';
import { type Bill, LINES, type MonthOfBill } from './bill';

/**
 * Kinds of items whose number grows every day or month until the retention removes the oldest. Chunks are not among
 * them: their number grows only until the oldest ones expire.
 */
const GROWS = new Set(['manifest', 'directory', 'rolled', 'rollups', 'index', 'usage']);
/** Number of months after which every tier except the archive keeps its size. */
const FULL_AFTER = 2;
const GROWTH = 0.05;
const DAYS_OF_MONTH = HOURS_OF_MONTH / 24;

/** One line of the bill, in dollars. */
export interface LineOfBill {
  readonly what: string;
  readonly months: readonly number[];
  readonly simulated: number;
  readonly forecast: number;
}

export function linesOf({ months }: Bill): LineOfBill[] {
  const line = (
    what: string,
    simulated: (m: MonthOfBill) => number,
    forecast: (m: MonthOfBill) => number,
  ) => ({
    what,
    months: months.map(simulated),
    simulated: months.reduce((sum, month) => sum + simulated(month), 0),
    forecast: months.reduce((sum, month) => sum + forecast(month), 0),
  });
  return [
    ...LINES.map(([what, prices]) => {
      const of = (billed: MonthOfBill['counted']) =>
        dollarsOf(Object.fromEntries(prices.map((price) => [price, billed[price] ?? 0])));
      return line(
        what,
        ({ counted }) => of(counted),
        ({ forecast }) => of(forecast),
      );
    }),
    line(
      'everything else',
      ({ assumed }) => assumed,
      ({ assumed }) => assumed,
    ),
    line(
      'total',
      ({ counted, assumed }) => dollarsOf(counted) + assumed,
      ({ forecast, assumed }) => dollarsOf(forecast) + assumed,
    ),
  ];
}

/**
 * Returns the kinds of items whose number grew although every day brought the same load. Compares the mean of the later
 * half of the months with the mean of the earlier half, because numbers of items with short lives vary from day to day.
 *
 * @returns undefined if there are too few months to tell
 */
export function growingOf({ months }: Bill): string[] | undefined {
  if (months.length <= FULL_AFTER) return undefined;
  const full = months.slice(FULL_AFTER - 1);
  const half = Math.floor(full.length / 2);
  const mean = (of: readonly MonthOfBill[], kind: string) =>
    of.reduce((sum, { sizes }) => sum + (sizes.kinds[kind] ?? 0), 0) / half;
  return Object.keys(full.at(-1)!.sizes.kinds)
    .filter((kind) => !GROWS.has(kind))
    .filter((kind) => mean(full.slice(-half), kind) > mean(full.slice(0, half), kind) * (1 + GROWTH))
    .sort();
}

export function billText(bill: Bill, sample: number): string {
  const { months, deploy } = bill;
  const lines = linesOf(bill);
  const samples = (bill.samplesOfMonth * months.reduce((sum, { days }) => sum + days, 0)) / DAYS_OF_MONTH;
  const billion = (dollars: number) => ((dollars / samples) * 1e9).toFixed(2);
  const { simulated, forecast } = lines.at(-1)!;
  const growing = growingOf(bill);
  const kinds = [...new Set(months.flatMap(({ sizes }) => Object.keys(sizes.kinds)))].sort();
  return [
    `${100 * sample} % of the load was simulated, without canary, evaluator and faults; dollars a month of`,
    `  ${deploy}`,
    '',
    table(
      ['what', ...months.map(({ month }) => month), 'sum', 'forecast', 'difference'],
      lines.map((each) => [
        each.what,
        ...each.months.map((dollars) => dollars.toFixed(2)),
        each.simulated.toFixed(2),
        each.forecast.toFixed(2),
        percent(each.simulated, each.forecast),
      ]),
    ),
    '',
    `per billion samples: ${billion(simulated)} simulated, ${billion(forecast)} forecast`,
    '"everything else" is the forecast itself: time of functions, shards, cache nodes, logs, traces, transfer, metrics, alarms.',
    "The ingester's invocations are the forecast's, too, since they depend on the number of shards.",
    '',
    'sizes of the sample at the end of each month',
    table(
      ['what', ...months.map(({ month }) => month)],
      [
        ['memory', ...months.map(({ sizes }) => gb(sizes.memoryBytes))],
        ['keys in memory', ...months.map(({ sizes }) => String(sizes.memoryKeys))],
        ['table', ...months.map(({ sizes }) => gb(sizes.itemBytes))],
        ['archive', ...months.map(({ sizes }) => gb(sizes.archiveBytes))],
        ['rollups', ...months.map(({ sizes }) => gb(sizes.rollupBytes))],
        ['old versions', ...months.map(({ sizes }) => gb(sizes.replacedBytes))],
        ['objects', ...months.map(({ sizes }) => String(sizes.objects))],
        ...kinds.map((kind) => [
          `items: ${kind}`,
          ...months.map(({ sizes }) => String(sizes.kinds[kind] ?? 0)),
        ]),
      ],
    ),
    '',
    growing === undefined
      ? `What grows is known only after ${FULL_AFTER + 1} months.`
      : growing.length === 0
        ? `Nothing grows except ${[...GROWS].join(', ')}, which stop growing at the retention.`
        : `These kinds of items grow and should not: ${growing.join(', ')}.`,
  ].join('\n');
}

function percent(simulated: number, forecast: number): string {
  if (forecast === 0) return simulated === 0 ? '' : 'not in the forecast';
  const share = (100 * (simulated - forecast)) / forecast;
  return `${share < 0 ? '-' : '+'}${Math.abs(share).toFixed(1)} %`;
}
