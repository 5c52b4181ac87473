import { Command } from 'commander';
import { print } from './command';
import type { LoadOptions } from './cost-report';
import { inSentences, withLoad } from './load-options';
import { parseCount } from './option-values';

interface CostOptions extends LoadOptions {
  readonly idle?: boolean;
  readonly json?: boolean;
}

/** `ops cost`. Like `ops quotas`, it needs no stack, because it computes from existing measurements. */
export function costCommand(): Command {
  return withLoad(new Command('cost'))
    .description('estimate the monthly cost on AWS of a load or of an idle stage')
    .option('--rules <n>', 'number of recording and alerting rules of all tenants', parseCount(1e9, 0), 0)
    .option('--idle', 'show the monthly cost of the stage without any posts or reads')
    .option('--json', 'print the result as JSON on stdout')
    .action(async (options: CostOptions) => {
      // Imported only here, because most commands do not need the CDK.
      const { costReport, costText, idleReport, idleText } = await import('./cost-report');
      inSentences(() =>
        options.idle
          ? print(options, idleReport(options), idleText)
          : print(options, costReport(options), costText),
      );
    });
}
