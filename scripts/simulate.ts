import './local/node-version';
import { createWriteStream } from 'node:fs';
import { Command, type Option } from 'commander';
import { parseDuration } from '../shared/model/duration';
import { Problem } from './local/problem';
import { InvalidValueError, parseCount } from './ops/option-values';
import type { BillOptions } from './simulate/bill';
import { PLANTED } from './simulate/planted';
import { type SimulationOptions, type SimulationResult, simulate } from './simulate/run';
import { commandOf, shrink } from './simulate/shrink';

interface SimulateCommandOptions extends Omit<SimulationOptions, 'report' | 'onTrace' | 'days'> {
  readonly days?: number;
  readonly load?: BillOptions['load'];
  readonly sample?: number;
  readonly batch: number;
  readonly reads: number;
  /** Number of seeds to run, one at a time. */
  readonly seeds: number;
  readonly shrink: boolean;
  readonly trace?: string;
  readonly json?: boolean;
}

const whole = (least: number) => parseCount(Number.MAX_SAFE_INTEGER, least);
/** Default numbers of virtual days of a simulation and of a bill. */
const [DAYS, DAYS_OF_BILL] = [2, 365];
const SAMPLE = 0.001;
/**
 * Options that do not apply to a bill. For a bill, hosts post the same number of samples each minute, and nothing
 * fails.
 */
const NOT_OF_BILL = [
  'hosts',
  'series',
  'every',
  'pace',
  'faults',
  'without',
  'plant',
  'seeds',
  'trace',
  'shrink',
];
const OF_BILL = ['sample', 'batch', 'reads'];
const report = (line: string) => void process.stderr.write(`${line}\n`);

async function main({
  seeds,
  shrink: shrinks,
  trace,
  json,
  days = DAYS,
  ...rest
}: SimulateCommandOptions): Promise<number> {
  const given = { ...rest, days };
  const file = trace === undefined ? undefined : createWriteStream(trace);
  const clean: SimulationResult[] = [];
  for (let seed = given.seed; seed < given.seed + seeds; seed++) {
    const options = { ...given, seed, report, onTrace: file && ((line: string) => void file.write(line)) };
    const result = await simulate(options);
    report(
      `seed ${seed}: ${result.ended} days, ${result.acknowledged} samples acknowledged, ` +
        `${result.flaws.length} flaws; ${result.secondsPerDay} s of CPU a virtual day`,
    );
    if (result.flaws.length === 0) {
      clean.push(result);
      continue;
    }
    for (const flaw of result.flaws) report(flaw);
    const smallest = shrinks ? await shrink(options, result) : { options, result };
    if (shrinks) for (const flaw of smallest.result.flaws) report(flaw);
    report(`again, with its trace: ${commandOf(smallest.options)} --trace trace.txt`);
    file?.end();
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
    return 1;
  }
  file?.end();
  if (json) process.stdout.write(`${JSON.stringify(clean.at(-1))}\n`);
  return 0;
}

/** Simulates a share of a load, and prints the bill of the whole load. */
async function bill({
  load,
  sample = SAMPLE,
  days = DAYS_OF_BILL,
  json,
  ...given
}: SimulateCommandOptions): Promise<number> {
  // Imported only here, because the forecast needs the CDK.
  const [{ simulateBill }, { billText, growingOf, linesOf }] = await Promise.all([
    import('./simulate/bill'),
    import('./simulate/bill-text'),
  ]);
  const { seed, tick, batch, reads } = given;
  const found = await simulateBill({ seed, tick, batch, reads, days, load: load!, sample, report });
  const growing = growingOf(found);
  process.stdout.write(
    `${json ? JSON.stringify({ ...found, lines: linesOf(found), growing }) : billText(found, sample)}\n`,
  );
  return growing !== undefined && growing.length > 0 ? 1 : 0;
}

/** Parses a load such as 1000000x60s. */
function parseLoad(text: string): BillOptions['load'] {
  const [, series, interval = ''] = /^(\d+)x(\w+)$/.exec(text) ?? [];
  const intervalMs = parseDuration(interval);
  if (series === undefined || Number(series) < 1 || intervalMs === undefined)
    throw new InvalidValueError('Give series and interval, such as 1000000x60s.');
  return { series: Number(series), intervalMs };
}

function parseSample(text: string): number {
  const sample = Number(text);
  if (!(sample > 0 && sample <= 1))
    throw new InvalidValueError('Give a share above 0 and at most 1, such as 0.001.');
  return sample;
}

/** @throws {Problem} if an option does not fit: one that --load does not allow, or one that needs --load */
function requireFits(options: readonly Option[], isGiven: (name: string) => boolean, isBill: boolean): void {
  const others = isBill ? NOT_OF_BILL : OF_BILL;
  const wrong = options.find(
    (option) => others.includes(option.attributeName()) && isGiven(option.attributeName()),
  );
  if (wrong !== undefined)
    throw new Problem(`${wrong.long} cannot be given ${isBill ? 'with' : 'without'} --load`);
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

new Command('simulate')
  .description(
    'Run all functions in one process, on a virtual clock, with models of the stores; a seed determines every order and fault.',
  )
  .option('--seed <n>', 'determines the order of everything, and the faults', whole(0), 1)
  .option('--seeds <n>', 'run this many seeds, beginning with --seed, until one finds a flaw', whole(1), 1)
  .option('--days <n>', `virtual days (default: ${DAYS}, with --load ${DAYS_OF_BILL})`, whole(1))
  .option('--hosts <n>', 'hosts that post', whole(1), 4)
  .option('--series <n>', 'series of each host', whole(1), 5)
  .option(
    '--every <minutes>',
    'minutes between two posts of an agent, which has a row for each minute',
    whole(1),
    15,
  )
  .option('--tick <minutes>', 'minutes between two runs of the functions that run each minute', whole(1), 15)
  .option('--pace <n>', 'how many times as often as usual actors act', whole(1), 1)
  .option('--no-faults', 'use none of the freedoms of AWS, and lose no memory')
  .option('--without <actors...>', 'actors to leave out', [])
  .option('--plant <bug>', `plant a bug: ${Object.keys(PLANTED).join(', ')}`)
  .option('--trace <file>', 'write the trace: virtual time, function, call, outcome')
  .option(
    '--load <series x interval>',
    'print the bill of a load such as 1000000x60s by month, beside the forecast of `ops cost`',
    parseLoad,
  )
  .option(
    '--sample <share>',
    `with --load: the share of it that is simulated (default: ${SAMPLE})`,
    parseSample,
  )
  .option('--batch <n>', 'with --load: samples of a request', whole(1), 500)
  .option('--reads <n>', 'with --load: graphs viewed per month', whole(0), 100_000)
  .option('--no-shrink', 'do not search for a smaller run that also fails')
  .option('--json', 'print the result as one JSON object, the last line of stdout')
  .addHelpText(
    'after',
    '\nExit codes: 0 clean; 1 a read or an invariant is wrong, or with --load something grows that should not; 2 the simulation failed.',
  )
  .action(async (options: SimulateCommandOptions, command: Command) => {
    try {
      const isBill = options.load !== undefined;
      requireFits(command.options, (name) => command.getOptionValueSource(name) === 'cli', isBill);
      process.exitCode = await (isBill ? bill(options) : main(options));
    } catch (error) {
      process.stderr.write(`${error instanceof Problem ? error.message : (error as Error).stack}\n`);
      process.exitCode = 2;
    }
  })
  .parse();
