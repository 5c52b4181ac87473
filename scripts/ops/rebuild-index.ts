import type { Command } from 'commander';
import type { IndexSlice } from '../../shared/operations/index-commands';
import { type CommonOptions, command, progress, run } from './command';
import type { Functions } from './invoke';
import { invokeInSlices } from './invoke-in-slices';

/** `ops rebuild-index`. */
export function rebuildIndexCommand(): Command {
  return command('rebuild-index', 'add missing entries to the series index; removes nothing')
    .requiredOption('--tenant <name>', 'the tenant')
    .action((options: CommonOptions & { tenant: string }) =>
      run(
        options,
        (functions) => rebuild(functions, options.tenant),
        ({ sources }) => `indexed ${sources} sources`,
      ),
    );
}

async function rebuild(functions: Functions, tenant: string): Promise<{ readonly sources: number }> {
  let sources = 0;
  for await (const slice of invokeInSlices<IndexSlice>(functions, 'operator', {
    command: 'index rebuild',
    tenant,
  })) {
    sources += slice.sources;
    if (slice.next !== null) progress(`indexed ${sources} sources`);
  }
  return { sources };
}
