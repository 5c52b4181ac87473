import type { Command } from 'commander';
import type { DeletionResult } from '../../functions/deleter/handler';
import { DAY_MS } from '../../shared/model/duration';
import type { MetricCount, SampleCount } from '../../shared/operations/sample-commands';
import { type CommonOptions, command, run } from './command';
import { type Confirm, confirm } from './confirm';
import { findSource, requireOneSource, type SourceOptions } from './find-source';
import { type Functions, OperatorError } from './invoke';
import { parseTime, requireOrder } from './option-values';

export interface DeleteOptions extends SourceOptions {
  /** A metric's name, or a prefix followed by `*`. */
  readonly name?: string;
  readonly allNames?: boolean;
  /** Half-open range of Unix times in ms. */
  readonly from?: number;
  readonly to?: number;
  readonly dryRun?: boolean;
  /** Deletes without counting and without asking for confirmation. */
  readonly yes?: boolean;
}

/** Result of a dry run. */
export interface DryRun {
  readonly isDryRun: true;
  readonly series: readonly MetricCount[];
  readonly samples: number;
}

/** Maximum number of metric names shown in a message. */
const MAX_SHOWN = 10;

/** `ops delete`. */
export function deleteCommand(): Command {
  return command('delete', 'delete samples posted until now from every tier')
    .option('--host <host>', 'the host that posted the samples, by id or name')
    .option('--service <name>', 'the service that posted the samples')
    .option('--name <metric>', "the metric's name, or a prefix followed by *, such as custom.foo.*")
    .option('--all-names', 'every metric of the host or service')
    .option('--tenant <name>', 'the tenant of the host or service', 'default')
    .option(
      '--from <time>',
      'start, ISO time (UTC by default) or Unix time in seconds (default: the first sample)',
      parseTime,
    )
    .option(
      '--to <time>',
      'end (exclusive), ISO time (UTC by default) or Unix time in seconds (default: the last sample)',
      parseTime,
    )
    .option('--dry-run', 'count the samples, and delete nothing')
    .option('--yes', 'delete without counting and confirmation')
    .action((options: CommonOptions & DeleteOptions) => {
      requireOneSource(options);
      requireOrder(options);
      if ((options.name === undefined) === !options.allNames)
        throw new OperatorError('give either --name or --all-names');
      return run(options, (functions) => deleteSamples(functions, options, confirm), deletionText);
    });
}

/**
 * Deletes the samples of some of a source's metrics that have been posted until now. Unless `yes` is set, counts them
 * and asks for confirmation first.
 *
 * @throws {OperatorError} also if the operator does not confirm
 */
export async function deleteSamples(
  functions: Functions,
  options: DeleteOptions,
  confirm: Confirm,
): Promise<DeletionResult | DryRun> {
  const { tenant, name = '*', from, to } = options;
  const source = await findSource(functions, options);
  const given = { tenant, [source.kind]: source.id, name };
  let mostSeries = Number.MAX_SAFE_INTEGER;
  if (options.dryRun || !options.yes) {
    const { series } = await functions.invoke<SampleCount>('operator', {
      ...given,
      command: 'count',
      from: from ?? 0,
      to: to ?? Date.now() + 2 * DAY_MS,
    });
    const samples = series.reduce((sum, metric) => sum + metric.samples, 0);
    if (options.dryRun) return { isDryRun: true, series, samples };
    const names = series.map((metric) => metric.name);
    await confirm(`deletes ${countText(samples, 'sample')} of ${source.text}: ${list(names)}`);
    // If metrics have appeared since the count, delete nothing, because the user has not agreed to delete them.
    mostSeries = series.length;
  }
  const result = await functions.invoke<DeletionResult>('deleter', { ...given, from, to, mostSeries });
  if (!result.isDeleted)
    throw new OperatorError(
      `${source.text} now has ${result.series} such metrics, more than were counted; nothing was deleted`,
    );
  return result;
}

function deletionText(result: DeletionResult | DryRun): string {
  if ('isDryRun' in result)
    return [
      ...result.series.map(({ name, samples }) => `${name}: ${countText(samples, 'sample')}`),
      `would delete ${countText(result.samples, 'sample')} of ${countText(result.series.length, 'metric')}`,
    ].join('\n');
  const what = result.series === 1 ? result.names[0] : countText(result.series, 'metric');
  return result.isVisible
    ? `deleted ${what}: reads no longer return it; the archiver removes it from the archive within a day`
    : `the deletion of ${what} was queued in the stream; it takes effect when the ingester has caught up`;
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, MAX_SHOWN).join(', ');
  return names.length > MAX_SHOWN ? `${shown} and ${names.length - MAX_SHOWN} more metrics` : shown;
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
