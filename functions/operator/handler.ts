import * as z from 'zod';
import { selectorOf, selects } from '../../shared/deletion';
import { settings } from '../../shared/environment';
import { parseEvent } from '../../shared/event';
import { sourceOf } from '../../shared/labels';
import { countSamples } from '../../shared/query/count';
import { readDependencies } from '../../shared/query/dependencies';
import { clampRange } from '../../shared/query/plan';
import { where } from '../../shared/query/where';

const { retention } = settings();
const dependencies = readDependencies();
const { tenants } = dependencies;

const eventSchema = z.object({
  command: z.enum(['where', 'count']),
  tenant: z.string().default('default'),
  host: z.string().optional(),
  service: z.string().optional(),
  /** Of a metric; `count` takes a prefix and `*` too. */
  name: z.string(),
  /** ms since epoch, half-open. */
  from: z.number().int(),
  to: z.number().int(),
});

/** Answers operator commands; nobody else may invoke it. */
export async function handler(event: unknown) {
  const { command, tenant: tenantName, host, service, name, from, to } = parseEvent(eventSchema, event);
  const tenant = await tenants.read(tenantName);
  if (tenant === undefined) throw new Error(`there is no tenant ${tenantName}`);
  if ((host === undefined) === (service === undefined)) throw new Error('name either a host or a service');
  const source = host !== undefined ? sourceOf.host(host) : sourceOf.service(service!);
  const range = clampRange({ fromMs: from, toMs: to }, Date.now(), retention);
  if (command === 'where') return where(dependencies, tenant, source, name, range);
  const selector = selectorOf(name);
  if (selector === undefined) throw new Error(`name: * may stand only at the end: ${JSON.stringify(name)}`);
  return countSamples(dependencies, tenant, source, (metric) => selects(selector, metric), range);
}
