import { join } from 'node:path';
import { Command, Option } from 'commander';
import { InvalidSettingError } from '../../shared/platform/settings';
import { UnknownCostError } from '../../shared/tenancy/stage-cost';
import type { LoadOptions } from './cost-report';
import { OperatorError } from './invoke';
import { InvalidValueError, parseCount, parseDurationOption } from './option-values';

interface CostOptions extends LoadOptions {
  readonly idle?: boolean;
  readonly json?: boolean;
}

/** `ops cost`. It needs no stack, as `ops quotas`: both compute from figures measured before. */
export function costCommand(): Command {
  return loadCommand('cost')
    .description('estimate what a load, or an idle stage, costs on AWS in a month, and explain each line')
    .option('--idle', 'the cost of a month without a post or a read, for the stage as it is configured')
    .option('--json', 'print the result as JSON on stdout')
    .action(async (options: CostOptions) => {
      // Loaded late, since only these commands need the CDK.
      const { costReport, costText, idleReport, idleText } = await import('./cost-report');
      const [report, text] = inSentences(() => {
        if (!options.idle) {
          const found = costReport(options);
          return [found, () => costText(found)];
        }
        const found = idleReport(options);
        return [found, () => idleText(found)];
      });
      console.log(options.json ? JSON.stringify(report) : text());
    });
}

interface QuotasOptions extends LoadOptions {
  readonly peak: number;
  readonly json?: boolean;
}

/** `ops quotas`. */
export function quotasCommand(): Command {
  return loadCommand('quotas')
    .description('compare what a load needs with the limits of a stage and of AWS, the first to break on top')
    .option('--peak <n>', 'the busiest second over the mean', parseCount(1000), 2)
    .option('--json', 'print the result as JSON on stdout')
    .action(async (options: QuotasOptions) => {
      const { quotasReport, quotasText } = await import('./quotas-report');
      const report = inSentences(() => quotasReport(options));
      console.log(options.json ? JSON.stringify(report) : quotasText(report));
    });
}

/** A command about a load on a stage. */
function loadCommand(name: string): Command {
  return new Command(name)
    .option('--series <n>', 'series that are posted', parseCount(1e12), 1_000_000)
    .addOption(
      new Option('--interval <duration>', 'time between two samples of a series')
        .argParser(parseDurationOption)
        .default(60_000, '60s'),
    )
    .option(
      '--retention <duration>',
      "how long samples can be read (default: the stage's setting, 460d)",
      parseDurationOption,
    )
    .option('--batch <n>', 'samples in a request', parseCount(1e12), 500)
    .option('--reads <n>', 'graphs that people look at in a month', parseCount(1e12), 100_000)
    .option(
      '--tenants <n>',
      'tenants of equal size, each with the partitions of a new one',
      parseCount(1e6),
      1,
    )
    .option('--stage <name>', 'the stage whose settings apply: dev, staging or production', 'production')
    .addOption(
      new Option(
        '--set <key=value>',
        'another value of a setting, such as window=4h, or a size=small|medium|large; repeatable',
      )
        .argParser(parseSetting)
        .default({}, "the stage's settings"),
    )
    .addOption(
      new Option('--units <file>', 'measured units: the output of `npm run bench -- units --json`').default(
        join(__dirname, 'measured-units.json'),
        'scripts/ops/measured-units.json',
      ),
    );
}

/** @throws {OperatorError} for what an operator can mend */
function inSentences<T>(compute: () => T): T {
  try {
    return compute();
  } catch (error) {
    if (error instanceof UnknownCostError || error instanceof InvalidSettingError)
      throw new OperatorError(error.message, { cause: error });
    throw error;
  }
}

function parseSetting(text: string, others: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidValueError('Give a setting such as window=4h.');
  return { ...others, [text.slice(0, at)]: text.slice(at + 1) };
}
