import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { tallySeries } from '../../shared/catalogue/series-tally';
import { objectStore } from '../../shared/compose/object-store';
import { readDependencies } from '../../shared/compose/read';
import { connectHot } from '../../shared/hot/connection';
import { selectorOf, selects } from '../../shared/model/deletion';
import { sourceOf } from '../../shared/model/labels';
import { MAX_PARTITIONS, maxPartitions } from '../../shared/model/placement';
import { eraseTenant } from '../../shared/operations/erase-tenant';
import { partitionBytes } from '../../shared/operations/tier-bytes';
import { metaTable, settings, variable, warmTable } from '../../shared/platform/environment';
import { parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { withMetrics } from '../../shared/platform/meters';
import { ENV } from '../../shared/platform/names';
import { countSamples } from '../../shared/query/count';
import { clampRange } from '../../shared/query/plan';
import { where } from '../../shared/query/where';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { LAST_WRITE_MS } from '../../shared/tenancy/deleted-tenants';
import { LIMIT_NAMES, limitsOf } from '../../shared/tenancy/limits';
import { RIGHTS } from '../../shared/tenancy/rights';
import type { Tenant } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';

const stage = settings();
const table = metaTable();
const dependencies = readDependencies();
const { tenants } = dependencies;
const keys = new ApiKeys(table);
const usage = new UsageTable(table);
const NO_SERIES = { active: 0, stored: 0, topNames: [], topSources: [] };
const erasure = {
  hot: connectHot(variable(ENV.redis)),
  warm: warmTable(),
  meta: table,
  manifest: dependencies.manifest,
  recovery: new RecoveryTable(table),
  s3: objectStore(),
  bucket: variable(ENV.bucket),
};

/** Time kept for the step in hand when a slice of work ends. */
const MARGIN_MS = 60_000;

/** UTF-8, as ids are made of, cannot tell lone surrogates apart. */
const tenantName = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => name.isWellFormed(), 'half of a surrogate pair');

const eventSchema = z.discriminatedUnion('command', [
  z.object({
    command: z.enum(['where', 'count']),
    tenant: z.string().default('default'),
    host: z.string().optional(),
    service: z.string().optional(),
    /** Of a metric; `count` takes a prefix and `*` too. */
    name: z.string(),
    /** ms since epoch, half-open. */
    from: z.number().int(),
    to: z.number().int(),
  }),
  z.object({
    command: z.literal('tenants create'),
    name: tenantName,
    partitions: z.number().int().min(1).max(MAX_PARTITIONS).default(stage.partitions),
  }),
  z.object({ command: z.literal('tenants list') }),
  z.object({ command: z.literal('tenants delete'), name: z.string() }),
  /** By the clock: erases what deleted tenants left, and is done with them once no function writes for them any more. */
  z.object({ command: z.literal('sweep'), settledMs: z.number().int().min(0).default(LAST_WRITE_MS) }),
  z.object({
    command: z.literal('tenants set'),
    name: z.string(),
    /** By name; null for what the stage has. */
    limits: z.partialRecord(z.enum(LIMIT_NAMES), z.number().int().min(0).nullable()),
  }),
  z.object({
    command: z.literal('keys create'),
    tenant: z.string(),
    rights: z.array(z.enum(RIGHTS)).min(1),
    /** ms since epoch. */
    expiresAt: z.number().int().optional(),
  }),
  z.object({
    command: z.literal('usage'),
    tenant: z.string(),
    month: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/),
  }),
  /** The next of the partitions from one on, as many as there is time for. */
  z.object({
    command: z.literal('usage bytes'),
    tenant: z.string(),
    partition: z.number().int().min(0).default(0),
  }),
  z.object({ command: z.literal('keys list'), tenant: z.string() }),
  z.object({ command: z.literal('keys revoke'), id: z.string().max(100) }),
]);

type OperatorEvent = z.output<typeof eventSchema>;
type OperatorCommand<Name extends OperatorEvent['command']> = Extract<OperatorEvent, { command: Name }>;

/** Answers operator commands; nobody else may invoke it. */
export const handler = withMetrics('operator', answer);

async function answer(event: unknown, context: Context): Promise<unknown> {
  const parsed = parseEvent(eventSchema, event);
  const hasTime = () => context.getRemainingTimeInMillis() > MARGIN_MS;
  switch (parsed.command) {
    case 'where':
    case 'count':
      return samplesOf(parsed);
    case 'tenants create':
      return describe(await tenants.create(parsed.name, parsed.partitions));
    case 'tenants list':
      return { tenants: (await tenants.list()).map(describe), deleted: await tenants.deleted() };
    case 'tenants delete': {
      const deleted = await tenants.markDeleted(parsed.name);
      if (deleted === undefined) throw new Error(`there is no tenant ${parsed.name}`);
      return eraseTenant(erasure, deleted, hasTime);
    }
    case 'sweep':
      return sweep(parsed, hasTime);
    case 'usage':
      return usageOf(parsed);
    case 'usage bytes':
      return bytesOf(parsed, hasTime);
    case 'tenants set':
      return setLimits(parsed);
    case 'keys create': {
      const { name } = await requireTenant(parsed.tenant);
      if (parsed.expiresAt !== undefined && parsed.expiresAt <= Date.now())
        throw new Error(`the key would expire at ${new Date(parsed.expiresAt).toISOString()}, which is past`);
      return keys.create({ tenant: name, rights: parsed.rights }, parsed.expiresAt);
    }
    case 'keys list':
      return keys.list((await requireTenant(parsed.tenant)).id);
    case 'keys revoke': {
      // As it is listed, or the whole key by mistake: the public id is what stands between the first underscores.
      const id = /^(?:ht_)?([A-Za-z0-9]{12})(?:_|$)/.exec(parsed.id)?.[1] ?? '';
      const grant = await keys.revoke(id);
      if (grant === undefined) throw new Error('there is no key of that id');
      return grant;
    }
  }
}

async function samplesOf(event: OperatorCommand<'where' | 'count'>) {
  const { command, tenant: tenantName, host, service, name, from, to } = event;
  const tenant = await requireTenant(tenantName);
  if ((host === undefined) === (service === undefined)) throw new Error('name either a host or a service');
  const source = host !== undefined ? sourceOf.host(host) : sourceOf.service(service!);
  const range = clampRange({ fromMs: from, toMs: to }, Date.now(), stage.retention);
  if (command === 'where') return where(dependencies, tenant, source, name, range);
  const selector = selectorOf(name);
  if (selector === undefined) throw new Error(`name: * may stand only at the end: ${JSON.stringify(name)}`);
  return countSamples(dependencies, tenant, source, (metric) => selects(selector, metric), range);
}

/** Erases what deleted tenants left, and counts the series of the others. One tenant's failure is no other's. */
async function sweep({ settledMs }: OperatorCommand<'sweep'>, hasTime: () => boolean) {
  let erased = 0;
  let remaining = 0;
  for (const tenant of await tenants.deleted()) {
    if (tenant.erasedAt !== undefined) continue;
    remaining++;
    const isSettled = Date.now() - tenant.deletedAt >= settledMs;
    try {
      const { isDone } = await eraseTenant(erasure, tenant, hasTime);
      if (!isDone || !isSettled) continue;
      await tenants.markErased(tenant);
      erased++;
      remaining--;
    } catch (error) {
      log.error('a deleted tenant is not erased', { tenantId: tenant.id, error: error as Error });
    }
  }
  // The limit of series goes by these until the next time.
  const tallies = await tallySeries(table, stage.retention, Date.now());
  for (const { id } of await tenants.list()) await usage.putSeries(id, tallies.get(id) ?? NO_SERIES);
  return { erased, remaining };
}

async function usageOf({ tenant: name, month }: OperatorCommand<'usage'>) {
  const { id } = await requireTenant(name);
  const tally = (await tallySeries(table, stage.retention, Date.now(), id)).get(id) ?? NO_SERIES;
  await usage.putSeries(id, tally);
  return {
    days: Object.fromEntries(await usage.days(id, month)),
    series: tally,
    memoryCopies: stage.cacheReplicas + 1,
  };
}

async function bytesOf(
  { tenant: name, partition: first }: OperatorCommand<'usage bytes'>,
  hasTime: () => boolean,
) {
  const tenant = await requireTenant(name);
  const partitions = maxPartitions(tenant.placement);
  const bytes = { hot: 0, warm: 0, cold: 0 };
  let partition = first;
  for (; partition < partitions && hasTime(); partition++) {
    const measured = await partitionBytes(erasure, { tenantId: tenant.id, partition });
    for (const tier of ['hot', 'warm', 'cold'] as const) bytes[tier] += measured[tier];
  }
  return { bytes, next: partition < partitions ? partition : null };
}

async function setLimits({ name, limits }: OperatorCommand<'tenants set'>) {
  const tenant = await requireTenant(name);
  const changed = Object.entries({ ...tenant.limits, ...limits }).filter(([, value]) => value !== null);
  await tenants.setLimits(tenant.id, Object.fromEntries(changed));
  return describe(await requireTenant(name));
}

async function requireTenant(name: string): Promise<Tenant> {
  const tenant = await tenants.read(name);
  if (tenant === undefined) throw new Error(`there is no tenant ${name}`);
  return tenant;
}

/** A tenant as operators see it. */
function describe({ id, name, placement, limits }: Tenant) {
  return {
    id,
    name,
    partitions: maxPartitions(placement),
    limits: limitsOf(stage, limits),
    ownLimits: Object.keys(limits ?? {}),
  };
}
