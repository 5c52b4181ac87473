import type { DeletionResult } from '../../functions/deleter/handler';
import { type Functions, OperatorError } from './invoke';

export interface DeleteOptions {
  readonly host?: string;
  readonly service?: string;
  /** A metric's name, or how names begin and `*`. */
  readonly name?: string;
  readonly allNames?: boolean;
  readonly tenant: string;
  /** ms since epoch, half-open. */
  readonly from?: number;
  readonly to?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** What `delete --dry-run` says: what would be deleted. */
export interface DryRun {
  readonly isDryRun: true;
  readonly series: readonly { readonly name: string; readonly samples: number }[];
  readonly samples: number;
}

const DAY_MS = 86_400_000;
/** Names that a sentence shows. */
const MAX_SHOWN = 10;

/** Deletes the samples that a source has so far of some metrics; what is posted later stays. */
export async function deleteSamples(
  functions: Functions,
  options: DeleteOptions,
): Promise<DeletionResult | DryRun> {
  const { host, service, tenant, from, to } = options;
  if ((host === undefined) === (service === undefined))
    throw new OperatorError('give either --host or --service');
  if ((options.name === undefined) === !options.allNames)
    throw new OperatorError('give either --name or --all-names');
  if (from !== undefined && to !== undefined && from >= to)
    throw new OperatorError(
      `--from ${timeText(from)} is not before --to ${timeText(to)}, which is not included`,
    );
  const asked = { tenant, host, service, name: options.name ?? '*' };
  if (options.dryRun) {
    const series = await functions.invoke<DryRun['series']>('operator', {
      ...asked,
      command: 'count',
      from: from ?? 0,
      to: to ?? Date.now() + 2 * DAY_MS,
    });
    if (series.length === 0) throw new OperatorError(`there is no metric ${asked.name} of it`);
    return { isDryRun: true, series, samples: series.reduce((sum, { samples }) => sum + samples, 0) };
  }
  const mostSeries = options.yes ? Number.MAX_SAFE_INTEGER : 1;
  const result = await functions.invoke<DeletionResult>('deleter', { ...asked, from, to, mostSeries });
  if (!result.isDeleted)
    throw new OperatorError(
      `this would delete ${result.series} metrics: ${list(result.names, result.series)}; --yes does, --dry-run counts their samples`,
    );
  return result;
}

export function deletionText(result: DeletionResult | DryRun): string {
  if ('isDryRun' in result)
    return [
      ...result.series.map(({ name, samples }) => `${name}: ${samples} samples`),
      `${result.samples} samples of ${result.series.length} metrics would be deleted`,
    ].join('\n');
  const what = `${result.series === 1 ? result.names[0] : `${result.series} metrics`}`;
  return result.isVisible
    ? `deleted ${what}: no read shows it any more; the archive is rewritten with its next run`
    : `the deletion of ${what} is in the stream; reads show it once the ingester has caught up`;
}

function list(names: readonly string[], count: number): string {
  const shown = names.slice(0, MAX_SHOWN).join(', ');
  return count > MAX_SHOWN ? `${shown} and ${count - MAX_SHOWN} more` : shown;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
