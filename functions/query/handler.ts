import type * as z from 'zod';
import { httpHandler } from '../../shared/api/handler';
import { HttpError, reply } from '../../shared/api/http';
import { mapLimited } from '../../shared/concurrency';
import type { metricsQuery } from '../../shared/contract/metrics';
import { metaTable, settings } from '../../shared/environment';
import { type Labels, metricOf, sourceOf } from '../../shared/labels';
import { TenantMeter } from '../../shared/limits/tenant-meter';
import { ApiKeys } from '../../shared/meta/api-keys';
import { Hosts } from '../../shared/meta/hosts';
import { Services } from '../../shared/meta/services';
import type { Tenant } from '../../shared/meta/tenants';
import { count } from '../../shared/meters';
import { sourceIdOf } from '../../shared/placement';
import { readDependencies } from '../../shared/query/dependencies';
import { downsample } from '../../shared/query/downsample';
import { readLatest } from '../../shared/query/latest';
import { metricNames } from '../../shared/query/metric-names';
import { clampRange, planShown } from '../../shared/query/plan';
import { type Reading, readSeries, TIERS } from '../../shared/query/read';
import { UsageTable } from '../../shared/usage/usage-table';

const stage = settings();
const { retention } = stage;
const dependencies = readDependencies();
const { tenants } = dependencies;
const table = metaTable();
const hosts = new Hosts(table);
const services = new Services(table);

/** Most pairs of host and name of one request for the latest values. mkr asks for at most 100 hosts at a time. */
const MAX_LATEST = 10_000;

/** Samples of one answer: Lambda's are 6 MB at most. */
const MAX_STEPS = 100_000;

export const handler = httpHandler(
  { keys: new ApiKeys(table), tenants, meter: new TenantMeter(new UsageTable(table), stage) },
  {
    'GET /api/v0/hosts/{hostId}/metrics': async ({ tenant, path: { hostId }, query }) =>
      readMetric(tenant, sourceOf.host(hostId), () => requireHost(tenant, hostId), query),
    'GET /api/v0/services/{serviceName}/metrics': async ({ tenant, path: { serviceName }, query }) =>
      readMetric(tenant, sourceOf.service(serviceName), () => requireService(tenant, serviceName), query),
    'GET /api/v0/hosts/{hostId}/metric-names': async ({ tenant, path: { hostId } }) => {
      await requireHost(tenant, hostId);
      return reply(200, { names: await namesOf(tenant, sourceOf.host(hostId)) });
    },
    'GET /api/v0/services/{serviceName}/metric-names': async ({ tenant, path: { serviceName } }) => {
      await requireService(tenant, serviceName);
      return reply(200, { names: await namesOf(tenant, sourceOf.service(serviceName)) });
    },
    'GET /api/v0/tsdb/latest': async ({ tenant, query }) => {
      const hostIds = [...new Set(query.hostId)];
      const names = [...new Set(query.name)];
      if (hostIds.length * names.length > MAX_LATEST)
        throw new HttpError(
          400,
          `hostId times name: ${hostIds.length} x ${names.length} exceeds ${MAX_LATEST}`,
        );
      const found = await mapLimited(hostIds, 8, async (hostId) => {
        const host = await hosts.get(tenant.id, hostId);
        if (host === undefined) return [hostId, {}] as const;
        const latest = await readLatest(dependencies, tenant, sourceOf.host(hostId), names, Date.now());
        return [hostId, Object.fromEntries(latest)] as const;
      });
      return reply(200, { tsdbLatest: Object.fromEntries(found) });
    },
  },
);

async function readMetric(
  tenant: Tenant,
  source: Labels,
  requireSource: () => Promise<void>,
  { name, from, to, step, aggregate, partial }: z.output<typeof metricsQuery>,
) {
  if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
  const asked = { fromMs: from * 1000, toMs: to * 1000 };
  const { range: whole, stepMs } = planShown(asked, step, aggregate !== undefined);

  const [known] = await Promise.all([
    dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source)),
    requireSource(),
  ]);
  if (!metricNames(known).includes(name))
    throw new HttpError(404, `there is no metric ${JSON.stringify(name.slice(0, 255))}`);
  const range = clampRange(whole, Date.now(), retention);
  const steps = stepMs === undefined ? 0 : (range.toMs - Math.max(range.fromMs, known.firstMs)) / stepMs;
  if (steps > MAX_STEPS)
    throw new HttpError(
      400,
      `step: ${Math.ceil(steps)} steps of ${stepMs! / 1000} s are more than ${MAX_STEPS}; ask for longer ones`,
    );
  const reading = await readSeries(
    dependencies,
    tenant,
    source,
    [metricOf(source, name)],
    range,
    known,
    partial === 'true',
  );
  const { timestamps, values } = samplesOf(reading);
  const shown =
    stepMs === undefined ? { timestamps, values } : downsample({ timestamps, values }, stepMs, aggregate);
  count('query', { Reads: 1, SamplesRead: timestamps.length });
  return reply(
    200,
    {
      metrics: Array.from(shown.timestamps, (ms, i) => ({
        time: Math.floor(ms / 1000),
        value: shown.values[i],
      })),
      ...(reading.missingSinceMs === undefined
        ? {}
        : { missing: { arrivedSince: Math.floor(reading.missingSinceMs / 1000) } }),
    },
    { 'server-timing': serverTiming(reading) },
  );
}

async function requireHost(tenant: Tenant, hostId: string): Promise<void> {
  if ((await hosts.get(tenant.id, hostId)) === undefined)
    throw new HttpError(404, `there is no host ${JSON.stringify(hostId.slice(0, 100))}`);
}

async function requireService(tenant: Tenant, service: string): Promise<void> {
  if ((await services.get(tenant.id, service)) === undefined)
    throw new HttpError(404, `there is no service ${JSON.stringify(service.slice(0, 100))}`);
}

async function namesOf(tenant: Tenant, source: Labels): Promise<string[]> {
  return metricNames(await dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source)));
}

function samplesOf({ block }: Reading): { timestamps: ArrayLike<number>; values: Float64Array } {
  const { rows, values } = block.columns[0]!;
  return {
    timestamps:
      rows === undefined ? block.timestamps : Float64Array.from(rows, (row) => block.timestamps[row]!),
    values,
  };
}

/** How long each tier took and how many samples it gave. @see https://www.w3.org/TR/server-timing/ */
function serverTiming({ tiers }: Reading): string {
  return TIERS.map((tier) => {
    const { durationMs, samples } = tiers[tier];
    return `${tier};dur=${durationMs.toFixed(1)};desc="${samples} samples"`;
  }).join(', ');
}
