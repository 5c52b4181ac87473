import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { parseDuration } from '../../shared/model/duration';
import { InvalidSettingError } from '../../shared/platform/settings';
import { UnknownCostError } from '../../shared/tenancy/forecast';
import type { LoadOptions } from './cost-report';
import { OperatorError } from './invoke';

interface CostOptions extends LoadOptions {
  readonly idle?: boolean;
  readonly json?: boolean;
}

/** `ops cost`: needs no stack, only figures measured before. */
export function costCommand(): Command {
  return new Command('cost')
    .description('what a load, or an idle stage, costs on AWS in a month, each line explained')
    .option('--series <n>', 'that are posted', parseCount, 1_000_000)
    .option('--interval <duration>', 'between two samples of a series', parseInterval, 60_000)
    .option('--retention <duration>', 'how long they can be read; default: the setting', parseInterval)
    .option('--batch <n>', 'samples of a request', parseCount, 500)
    .option('--reads <n>', 'graphs that are looked at, a month', parseCount, 100_000)
    .option('--stage <name>', 'whose settings: dev, staging or production', 'production')
    .option('--set <key=value>', 'another setting, as -c of cdk; repeatable', parseSetting, {})
    .option(
      '--units <file>',
      'of another run of `npm run bench -- units --json`',
      join(__dirname, 'measured-units.json'),
    )
    .option('--idle', 'of a month without a post or a read, as the stage is configured')
    .option('--json', 'print one JSON object')
    .action(async (options: CostOptions) => {
      try {
        await print(options);
      } catch (error) {
        if (error instanceof UnknownCostError || error instanceof InvalidSettingError)
          throw new OperatorError(error.message, { cause: error });
        throw error;
      }
    });
}

async function print(options: CostOptions): Promise<void> {
  // Loaded late: the other commands do not need the CDK.
  const { costReport, costText, idleReport, idleText } = await import('./cost-report');
  if (options.idle) {
    const report = idleReport(options);
    console.log(options.json ? JSON.stringify(report) : idleText(report));
  } else {
    const report = costReport(options);
    console.log(options.json ? JSON.stringify(report) : costText(report));
  }
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 1e12)
    throw new InvalidArgumentError('give a whole number from 1 to 1000000000000.');
  return count;
}

function parseInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms < 1) throw new InvalidArgumentError('give a duration such as 60s or 460d.');
  return ms;
}

function parseSetting(text: string, others: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('give a setting such as window=4h.');
  return { ...others, [text.slice(0, at)]: text.slice(at + 1) };
}
