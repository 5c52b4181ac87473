import './local/node-version';
import { createWriteStream } from 'node:fs';
import { Command } from 'commander';
import { Problem } from './local/problem';
import { parseCount } from './ops/option-values';
import { PLANTED } from './simulate/planted';
import { type SimulationOptions, type SimulationResult, simulate } from './simulate/run';
import { commandOf, shrink } from './simulate/shrink';

interface SimulateCommandOptions extends Omit<SimulationOptions, 'report' | 'onTrace'> {
  /** Number of seeds to run, one after the other. */
  readonly seeds: number;
  readonly shrink: boolean;
  readonly trace?: string;
  readonly json?: boolean;
}

const whole = (least: number) => parseCount(Number.MAX_SAFE_INTEGER, least);
const report = (line: string) => void process.stderr.write(`${line}\n`);

async function main({
  seeds,
  shrink: shrinks,
  trace,
  json,
  ...given
}: SimulateCommandOptions): Promise<number> {
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

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

new Command('simulate')
  .description(
    'Run all functions in one process, on a virtual clock, with models of the stores; a seed decides every order and fault.',
  )
  .option('--seed <n>', 'decides the order of everything, and the faults', whole(0), 1)
  .option('--seeds <n>', 'run this many seeds, beginning with --seed, until one finds a flaw', whole(1), 1)
  .option('--days <n>', 'virtual days', whole(1), 2)
  .option('--hosts <n>', 'hosts that post', whole(1), 4)
  .option('--series <n>', 'series of each host', whole(1), 5)
  .option(
    '--every <minutes>',
    'minutes between two posts of an agent, which has a row for each minute',
    whole(1),
    15,
  )
  .option('--tick <minutes>', 'minutes between two runs of the functions that run each minute', whole(1), 15)
  .option('--pace <n>', 'how much more often than usual actors act', whole(1), 1)
  .option('--no-faults', 'use none of the freedoms of AWS, and lose no memory')
  .option('--without <actors...>', 'actors that take no part', [])
  .option('--plant <bug>', `plant a bug: ${Object.keys(PLANTED).join(', ')}`)
  .option('--trace <file>', 'write the trace: virtual time, function, call, outcome')
  .option('--no-shrink', 'do not search for a smaller run that fails, too')
  .option('--json', 'print the result as one JSON object, the last line of stdout')
  .addHelpText('after', '\nExit codes: 0 clean, 1 a read or an invariant is wrong, 2 the simulation failed.')
  .action(async (options: SimulateCommandOptions) => {
    try {
      process.exitCode = await main(options);
    } catch (error) {
      process.stderr.write(`${error instanceof Problem ? error.message : (error as Error).stack}\n`);
      process.exitCode = 2;
    }
  })
  .parse();
