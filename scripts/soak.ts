import './local/node-version';
import { Command, InvalidArgumentError } from 'commander';
import { Problem } from './local/problem';
import { soak } from './soak/run';
import { SHAPES } from './soak/senders';

interface SoakCommandOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly senders: number;
  readonly metrics: number;
  readonly json?: boolean;
}

const number = (least: number, most: number, isWhole: boolean) => (text: string) => {
  const value = Number(text);
  if (!(value >= least && value <= most) || (isWhole && !Number.isInteger(value)))
    throw new InvalidArgumentError(`give ${isWhole ? 'a whole number ' : ''}from ${least} to ${most}.`);
  return value;
};

async function run(options: SoakCommandOptions): Promise<boolean> {
  const result = await soak({ ...options, report: (line) => console.error(line) });
  const { lost, doubled, wrong, gaps, corrupt, ruleFlaws } = result;
  if (options.json) console.log(JSON.stringify(result));
  else {
    const { acked, faults, kills, killPoints, killPointsHit, maxLagSeconds, reads } = result;
    console.log(
      `${acked} samples acknowledged; lost ${lost}, doubled ${doubled}, wrong ${wrong}; ${gaps} gaps in ${reads} reads; ${corrupt} objects corrupt`,
    );
    console.log(`${result.ruleTicks} ticks of rules evaluated, ${ruleFlaws} flaws in their results`);
    console.log(
      `${faults} faults, ${kills} of them kills at ${killPointsHit} of ${2 * killPoints} sides of changes; the ingester was at most ${maxLagSeconds} s behind`,
    );
  }
  return lost + doubled + wrong + gaps + corrupt + ruleFlaws === 0;
}

new Command('npm run soak --')
  .description(
    'Runs the pipeline under load while functions are killed, connections cut, stores fail and memory is lost, as the ' +
      'seed decides; then reads every acknowledged sample back. Exits with 1 if one is lost, doubled or wrong.',
  )
  .option('--seed <number>', 'chooses the faults and their times', number(0, 2 ** 32 - 1, true), 1)
  .option('--minutes <number>', 'minutes of load and faults', number(0.5, 24 * 60, false), 2)
  .option(
    '--senders <number>',
    `senders, each of which posts every second, of these shapes in turn: ${Object.keys(SHAPES).join(', ')}`,
    number(1, 1_000, true),
    12,
  )
  .option('--metrics <number>', 'series of each sender', number(1, 200, true), 20)
  .option('--json', 'print one JSON object as the last line')
  .action(async (options: SoakCommandOptions) => process.exit((await run(options)) ? 0 : 1))
  .parseAsync()
  .then(
    () => {},
    (error: unknown) => {
      console.error(error instanceof Problem ? `soak: ${error.message}` : error);
      process.exit(2);
    },
  );
