import { Command } from 'commander';
import { print } from './command';
import type { LoadOptions } from './cost-report';
import { inSentences, withLoad } from './load-options';
import { parseCount } from './option-values';

interface QuotasOptions extends LoadOptions {
  readonly peak: number;
  readonly json?: boolean;
}

/** `ops quotas`. */
export function quotasCommand(): Command {
  return withLoad(new Command('quotas'))
    .description('compare a load with the limits of a stage and of AWS, tightest first')
    .option('--peak <n>', 'ratio of the busiest second to the average second', parseCount(1000), 2)
    .option('--json', 'print the result as JSON on stdout')
    .action(async (options: QuotasOptions) => {
      const { quotasReport, quotasText } = await import('./quotas-report');
      inSentences(() => print(options, quotasReport(options), quotasText));
    });
}
