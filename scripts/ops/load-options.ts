import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { UnknownCostError } from '../../shared/cost/stage-cost';
import { InvalidSettingError } from '../../shared/platform/settings';
import { OperatorError } from './invoke';
import { InvalidValueError, parseCount, parseDurationOption } from './option-values';

/** Adds the options that describe a load on a stage. */
export function withLoad(command: Command): Command {
  return command
    .option('--series <n>', 'number of series', parseCount(1e12), 1_000_000)
    .addOption(
      new Option('--interval <duration>', 'interval between samples of a series')
        .argParser(parseDurationOption)
        .default(60_000, '60s'),
    )
    .option(
      '--retention <duration>',
      "how long samples can be read (default: the stage's setting, 460d)",
      parseDurationOption,
    )
    .option('--batch <n>', 'samples per request', parseCount(1e12), 500)
    .option('--reads <n>', 'graphs viewed per month', parseCount(1e12), 100_000)
    .option('--tenants <n>', 'number of tenants of equal size', parseCount(1e6), 1)
    .option('--stage <name>', 'the stage whose settings apply: dev, staging or production', 'production')
    .addOption(
      new Option(
        '--set <key=value>',
        'override a setting, such as window=4h, or choose a size=small|medium|large; repeatable',
      )
        .argParser(parseSetting)
        .default({}, "the stage's settings"),
    )
    .addOption(
      new Option(
        '--shape <name>',
        'how hosts post: dense (all metrics in one request) or telegraf (line protocol with 12 measurements of 8 fields)',
      )
        .choices(Object.keys(UNITS_FILES))
        .default('dense'),
    )
    .option(
      '--units <file>',
      'file with the output of `npm run bench -- units --json` (default: measurements in scripts/ops)',
    );
}

const UNITS_FILES = { dense: 'measured-units.json', telegraf: 'measured-units-telegraf.json' };
export type Shape = keyof typeof UNITS_FILES;

/** Returns the path of the file with the measured units. */
export function unitsFile({
  units,
  shape = 'dense',
}: {
  readonly units?: string;
  readonly shape?: Shape;
}): string {
  return units ?? join(__dirname, UNITS_FILES[shape]);
}

/** Runs `compute`, and turns errors that the operator can fix into an OperatorError. */
export function inSentences<T>(compute: () => T): T {
  try {
    return compute();
  } catch (error) {
    if (error instanceof UnknownCostError || error instanceof InvalidSettingError)
      throw new OperatorError(error.message, { cause: error });
    throw error;
  }
}

export function parseSetting(text: string, others: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidValueError('Give a setting such as window=4h.');
  return { ...others, [text.slice(0, at)]: text.slice(at + 1) };
}
