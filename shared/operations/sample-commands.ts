import { selectorOf, selects } from '../model/deletion';
import type { Tier } from '../model/tier';
import { InvalidEventError } from '../platform/event';
import { countSamples } from '../query/count';
import { clampRange } from '../query/plan';
import { type TierPlaces, where } from '../query/where';
import { findSource, type SourceDetails } from './find-source';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';

export interface MetricCount {
  readonly name: string;
  readonly samples: number;
}

/** A host or service that the command found. */
export type SourceDescription = Pick<SourceDetails, 'kind' | 'id' | 'text'>;

export interface SampleCount {
  readonly source: SourceDescription;
  readonly series: readonly MetricCount[];
}

/**
 * Finds a host or service by id or name.
 *
 * @throws {InvalidEventError} if the tenant, host or service does not exist
 */
export async function describeSource(
  dependencies: OperatorDependencies,
  command: OperatorCommand<'find source'>,
): Promise<SourceDescription> {
  const tenant = await requireTenant(dependencies.tenants, command.tenant);
  return describe(await findSource(storesOf(dependencies), tenant, command));
}

/** Finds the Redis keys, DynamoDB items and S3 objects that hold a metric's samples. */
export async function whereSamples(
  dependencies: OperatorDependencies,
  command: OperatorCommand<'where' | 'count'>,
): Promise<Record<Tier, TierPlaces>> {
  const { tenant, source, range } = await rangeOf(dependencies, command);
  if (!source.metrics.includes(command.name)) throw unknownMetric(source, command.name);
  return where(dependencies.read, tenant, source.labels, command.name, range);
}

/** Counts the samples of each metric that a name or prefix selects. */
export async function countMetrics(
  dependencies: OperatorDependencies,
  command: OperatorCommand<'where' | 'count'>,
): Promise<SampleCount> {
  const selector = selectorOf(command.name);
  if (selector === undefined)
    throw new InvalidEventError(`name: * is allowed only at the end, not in ${JSON.stringify(command.name)}`);
  const { tenant, source, range } = await rangeOf(dependencies, command);
  const series = await countSamples(
    dependencies.read,
    tenant,
    source.labels,
    (metric) => selects(selector, metric),
    range,
  );
  if (series.length === 0) throw unknownMetric(source, command.name);
  return { source: describe(source), series };
}

async function rangeOf(dependencies: OperatorDependencies, command: OperatorCommand<'where' | 'count'>) {
  const tenant = await requireTenant(dependencies.tenants, command.tenant);
  const source = await findSource(storesOf(dependencies), tenant, command);
  const requested = { fromMs: command.from, toMs: command.to };
  return { tenant, source, range: clampRange(requested, dependencies.now(), dependencies.stage.retention) };
}

function storesOf({ hosts, services, read }: OperatorDependencies) {
  return { hosts, services, catalogue: read.catalogue };
}

function describe({ kind, id, text }: SourceDetails): SourceDescription {
  return { kind, id, text };
}

function unknownMetric({ text, metrics }: SourceDetails, name: string): InvalidEventError {
  const known = metrics.slice(0, 5).join(', ');
  const have =
    metrics.length === 0 ? 'it has none yet' : `it has ${known}${metrics.length > 5 ? ', ...' : ''}`;
  return new InvalidEventError(`${text} has no metric ${name}; ${have}`);
}
