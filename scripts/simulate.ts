import './local/node-version';
import { createWriteStream } from 'node:fs';
import { Command } from 'commander';
import { Problem } from './local/problem';
import { parseCount } from './ops/option-values';
import { type SimulationOptions, simulate } from './simulate/run';

interface SimulateCommandOptions extends Omit<SimulationOptions, 'report' | 'onTrace'> {
  readonly trace?: string;
  readonly json?: boolean;
}

const whole = (least: number) => parseCount(Number.MAX_SAFE_INTEGER, least);

async function main(options: SimulateCommandOptions): Promise<number> {
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  const file = options.trace === undefined ? undefined : createWriteStream(options.trace);
  const result = await simulate({ ...options, report, onTrace: file && ((line) => void file.write(line)) });
  file?.end();
  for (const example of result.examples) report(example);
  report(
    `seed ${result.seed}: ${result.days} days, ${result.acknowledged} samples acknowledged, ${result.lost} lost, ` +
      `${result.doubled} doubled, ${result.wrong} wrong; ${result.secondsPerDay} s a virtual day`,
  );
  if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.lost + result.doubled + result.wrong === 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));

new Command('simulate')
  .description(
    'Run all functions in one process, on a virtual clock, with models of the stores; a seed decides every order and fault.',
  )
  .option('--seed <n>', 'decides the order of everything, and the faults', whole(0), 1)
  .option('--days <n>', 'virtual days', whole(1), 2)
  .option('--hosts <n>', 'hosts that post', whole(1), 4)
  .option('--series <n>', 'series of each host', whole(1), 5)
  .option('--every <minutes>', 'minutes between two posts of a host', whole(1), 1)
  .option('--no-faults', 'use none of the freedoms of AWS')
  .option('--trace <file>', 'write the trace: virtual time, function, call, outcome')
  .option('--json', 'print the result as one JSON object, the last line of stdout')
  .addHelpText(
    'after',
    '\nExit codes: 0 clean, 1 acknowledged samples are lost or wrong, 2 the simulation failed.',
  )
  .action(async (options: SimulateCommandOptions) => {
    try {
      process.exitCode = await main(options);
    } catch (error) {
      process.stderr.write(`${error instanceof Problem ? error.message : (error as Error).stack}\n`);
      process.exitCode = 2;
    }
  })
  .parse();
