import * as z from 'zod';
import { settings } from '../../shared/environment';
import { sourceOf } from '../../shared/labels';
import { readDependencies } from '../../shared/query/dependencies';
import { clampRange } from '../../shared/query/plan';
import { where } from '../../shared/query/where';

const { retention } = settings();
const dependencies = readDependencies();
const { tenants } = dependencies;

const eventSchema = z.object({
  command: z.literal('where'),
  tenant: z.string().default('default'),
  host: z.string().optional(),
  service: z.string().optional(),
  name: z.string(),
  /** ms since epoch, half-open. */
  from: z.number().int(),
  to: z.number().int(),
});

/** Answers operator commands; nobody else may invoke it. */
export async function handler(event: unknown) {
  const { tenant: tenantName, host, service, name, from, to } = eventSchema.parse(event);
  const tenant = await tenants.read(tenantName);
  if (tenant === undefined) throw new Error(`there is no tenant ${tenantName}`);
  if ((host === undefined) === (service === undefined)) throw new Error('name either a host or a service');
  const source = host !== undefined ? sourceOf.host(host) : sourceOf.service(service!);
  return where(
    dependencies,
    tenant,
    source,
    name,
    clampRange({ fromMs: from, toMs: to }, Date.now(), retention),
  );
}
