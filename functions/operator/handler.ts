import * as z from 'zod';
import { ColdTier } from '../../shared/cold/cold-tier';
import { metaTable, settings, variable, warmTable } from '../../shared/environment';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { sourceOf } from '../../shared/labels';
import { Catalogue } from '../../shared/meta/catalogue';
import { Manifest } from '../../shared/meta/manifest';
import { Tenants } from '../../shared/meta/tenants';
import { ENV } from '../../shared/names';
import { objectStore } from '../../shared/object-store';
import { clampRange } from '../../shared/query/plan';
import { where } from '../../shared/query/where';
import { WarmTier } from '../../shared/warm/warm-tier';

const { retention, streamRetention, warmTtl } = settings();
const table = metaTable();
const tenants = new Tenants(table);
const dependencies = {
  hot: new HotTier(connectHot(variable(ENV.redis)), streamRetention),
  warm: new WarmTier(warmTable(), warmTtl),
  cold: new ColdTier(objectStore(), variable(ENV.bucket)),
  catalogue: new Catalogue(table, retention),
  manifest: new Manifest(table),
};

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
