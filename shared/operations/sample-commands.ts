import { selectorOf, selects } from '../model/deletion';
import { sourceOf } from '../model/labels';
import { countSamples } from '../query/count';
import { clampRange } from '../query/plan';
import type { Tier } from '../query/read';
import { type TierPlaces, where } from '../query/where';
import type { OperatorDependencies } from './operator-dependencies';
import type { OperatorCommand } from './operator-event';
import { requireTenant } from './tenant-commands';

/** How many samples a metric has. */
export interface MetricCount {
  readonly name: string;
  readonly samples: number;
}

/** Finds the keys, items and objects that hold a metric's samples (`where`), or counts samples by metric (`count`). */
export async function samplesOf(
  { tenants, read, stage, now }: OperatorDependencies,
  { command, tenant: tenantName, host, service, name, from, to }: OperatorCommand<'where' | 'count'>,
): Promise<Record<Tier, TierPlaces> | MetricCount[]> {
  const tenant = await requireTenant(tenants, tenantName);
  if ((host === undefined) === (service === undefined)) throw new Error('name either a host or a service');
  const source = host !== undefined ? sourceOf.host(host) : sourceOf.service(service!);
  const range = clampRange({ fromMs: from, toMs: to }, now(), stage.retention);
  if (command === 'where') return where(read, tenant, source, name, range);
  const selector = selectorOf(name);
  if (selector === undefined) throw new Error(`name: * may stand only at the end: ${JSON.stringify(name)}`);
  return countSamples(read, tenant, source, (metric) => selects(selector, metric), range);
}
