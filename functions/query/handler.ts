import { LRUCache } from 'lru-cache';
import type * as z from 'zod';
import { hasSeries, metricNames, seriesOf } from '../../shared/catalogue/source-series';
import { readDependencies } from '../../shared/compose/read';
import { metaTable } from '../../shared/compose/tables';
import type { metricTableQuery } from '../../shared/http/contract/metric-table';
import type { metricsQuery } from '../../shared/http/contract/metrics';
import { httpHandler } from '../../shared/http/handler';
import { HttpError, reply } from '../../shared/http/http';
import { type Labels, metricOf, sourceOf } from '../../shared/model/labels';
import { sourceIdOf } from '../../shared/model/placement';
import type { TimeRange } from '../../shared/model/selection';
import { Status } from '../../shared/operations/status';
import { mapLimited } from '../../shared/platform/concurrency';
import { settings } from '../../shared/platform/environment';
import { count, withMetrics } from '../../shared/platform/meters';
import { downsample } from '../../shared/query/downsample';
import { readLatest } from '../../shared/query/latest';
import { clampRange, planShown } from '../../shared/query/plan';
import { type Reading, readSeries, TIERS } from '../../shared/query/read';
import { samplesOf, seriesTable } from '../../shared/query/series-table';
import { spansOf } from '../../shared/query/spans';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { Hosts } from '../../shared/registry/hosts';
import { Services } from '../../shared/registry/services';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { TenantMeter } from '../../shared/tenancy/tenant-meter';
import type { Tenant } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';

const stage = settings();
const { retention, window: windowMs, flushDelay, archiveAfter, cacheReplicas } = stage;
const dependencies = readDependencies();
const { tenants } = dependencies;
const table = metaTable();
const usage = new UsageTable(table);
const status = new Status({
  hot: dependencies.hot,
  manifest: dependencies.manifest,
  recovery: new RecoveryTable(table),
  residencyMs: windowMs + flushDelay,
  archiveAfterMs: archiveAfter,
  retentionMs: retention,
  memoryCopies: cacheReplicas + 1,
  usage,
  now: Date.now,
});
const hosts = new Hosts(table);
const services = new Services(table);
/** Hosts that are there, and stay: one that is retired can still be read. */
const knownHosts = new LRUCache<string, true>({ max: 100_000 });

/** Most pairs of host and name of one request for the latest values. mkr asks for at most 100 hosts at a time. */
const MAX_LATEST = 10_000;

/** Samples of one answer: Lambda's are 6 MB at most. */
const MAX_STEPS = 100_000;

const answer = httpHandler(
  { keys: new ApiKeys(table), tenants, meter: new TenantMeter(usage, stage) },
  {
    'GET /api/v0/hosts/{hostId}/metrics': async ({ tenant, path: { hostId }, query }) =>
      readMetric(tenant, sourceOf.host(hostId), query, () => requireHost(tenant, hostId)),
    'GET /api/v0/services/{serviceName}/metrics': async ({ tenant, path: { serviceName }, query }) =>
      readMetric(tenant, sourceOf.service(serviceName), query, () => requireService(tenant, serviceName)),
    'GET /api/v0/hosts/{hostId}/metric-names': async ({ tenant, path: { hostId } }) => {
      await requireHost(tenant, hostId);
      return reply(200, { names: await namesOf(tenant, sourceOf.host(hostId)) });
    },
    'GET /api/v0/services/{serviceName}/metric-names': async ({ tenant, path: { serviceName } }) => {
      await requireService(tenant, serviceName);
      return reply(200, { names: await namesOf(tenant, sourceOf.service(serviceName)) });
    },
    'GET /api/v1/series': async ({ tenant, query: { label } }) => {
      const sourceId = sourceIdOf(tenant.id, sourceOf.labels(label));
      const known = await dependencies.catalogue.source(tenant.id, sourceId);
      return reply(200, { series: seriesOf(known).map((labels) => Object.fromEntries(labels)) });
    },
    'GET /api/v1/series/metrics': async ({ tenant, query }) => readMetric(tenant, query.label, query),
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
    'GET /api/v1/hosts/{hostId}/metrics': async ({ tenant, path: { hostId }, query }) =>
      readTable(tenant, sourceOf.host(hostId), () => requireHost(tenant, hostId), query),
    'GET /api/v1/services/{serviceName}/metrics': async ({ tenant, path: { serviceName }, query }) =>
      readTable(tenant, sourceOf.service(serviceName), () => requireService(tenant, serviceName), query),
    'GET /api/v1/status': async ({ tenant }) => reply(200, await status.of(tenant)),
  },
);

export const handler = withMetrics('query', answer);

/** @param requireSource given for the source of Mackerel's metrics, whose times are of whole seconds */
async function readMetric(
  tenant: Tenant,
  labels: Labels,
  { name, from, to, step, aggregate, partial }: z.output<typeof metricsQuery>,
  requireSource?: () => Promise<void>,
) {
  const source = sourceOf.labels(labels);
  const series = metricOf(labels, name);
  if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
  const asked = { fromMs: from * 1000, toMs: to * 1000 };
  const { range: whole, stepMs } = planShown(asked, step, aggregate !== undefined);

  const [known] = await Promise.all([
    dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source)),
    requireSource?.(),
  ]);
  if (!hasSeries(known, series))
    throw new HttpError(404, `there is no metric ${JSON.stringify(name.slice(0, 255))} of these labels`);
  const range = clampRange(whole, Date.now(), retention);
  if (stepMs !== undefined) requireFewSteps(1, stepMs, range, known.firstMs);
  const reading = await readSeries(dependencies, tenant, source, [series], range, known, partial === 'true');
  const { timestamps, values } = samplesOf(reading.block, 0);
  const shown =
    stepMs === undefined ? { timestamps, values } : downsample({ timestamps, values }, stepMs, aggregate);
  count('query', { Reads: 1, SamplesRead: timestamps.length });
  return reply(
    200,
    {
      metrics: Array.from(shown.timestamps, (ms, i) => ({
        time: requireSource === undefined ? ms / 1000 : Math.floor(ms / 1000),
        value: shown.values[i],
      })),
      ...(reading.missingSinceMs === undefined
        ? {}
        : { missing: { arrivedSince: Math.floor(reading.missingSinceMs / 1000) } }),
    },
    { 'server-timing': serverTiming(reading, range) },
  );
}

/** Several metrics of one source in one read, side by side, as a graph takes them. */
async function readTable(
  tenant: Tenant,
  source: Labels,
  requireSource: () => Promise<void>,
  { name, from, to, step: stepMs, aggregate, partial }: z.output<typeof metricTableQuery>,
) {
  if (from > to) throw new HttpError(400, `from ${from} is after to ${to}`);
  const [known] = await Promise.all([
    dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source)),
    requireSource(),
  ]);
  const existing = new Set(metricNames(known));
  const found = [...new Set(name)].filter((each) => existing.has(each));
  if (found.length === 0) return reply(200, { times: [], series: [] });
  const asked = { fromMs: from * 1000, toMs: to * 1000 };
  const whole =
    stepMs === undefined ? { ...asked, toMs: asked.toMs + 1000 } : planShown(asked, stepMs, true).range;
  const range = clampRange(whole, Date.now(), retention);
  if (stepMs !== undefined) requireFewSteps(found.length, stepMs, range, known.firstMs);
  const series = found.map((each) => metricOf(source, each));
  const reading = await readSeries(dependencies, tenant, source, series, range, known, partial === 'true');
  const { times, values } = seriesTable(reading.block, stepMs, aggregate);
  count('query', { Reads: 1, SamplesRead: values.length * times.length });
  return reply(
    200,
    {
      times,
      series: found.map((each, i) => ({ name: each, values: values[i] })),
      ...(reading.missingSinceMs === undefined
        ? {}
        : { missing: { arrivedSinceMs: reading.missingSinceMs } }),
    },
    { 'server-timing': serverTiming(reading, range) },
  );
}

function requireFewSteps(series: number, stepMs: number, { fromMs, toMs }: TimeRange, firstMs: number): void {
  const steps = (series * (toMs - Math.max(fromMs, firstMs))) / stepMs;
  if (steps > MAX_STEPS)
    throw new HttpError(
      400,
      `step: ${Math.ceil(steps)} steps of ${stepMs / 1000} s are more than ${MAX_STEPS}; ask for longer ones`,
    );
}

async function requireHost(tenant: Tenant, hostId: string): Promise<void> {
  const key = `${tenant.id} ${hostId}`;
  if (knownHosts.has(key)) return;
  if ((await hosts.get(tenant.id, hostId)) === undefined)
    throw new HttpError(404, `there is no host ${JSON.stringify(hostId.slice(0, 100))}`);
  knownHosts.set(key, true);
}

async function requireService(tenant: Tenant, service: string): Promise<void> {
  if ((await services.get(tenant.id, service)) === undefined)
    throw new HttpError(404, `there is no service ${JSON.stringify(service.slice(0, 100))}`);
}

async function namesOf(tenant: Tenant, source: Labels): Promise<string[]> {
  return metricNames(await dependencies.catalogue.source(tenant.id, sourceIdOf(tenant.id, source)), source);
}

/**
 * How long each tier took, how many samples it gave, and where along time those lie: `spans` has their first and last
 * times, in seconds. @see https://www.w3.org/TR/server-timing/
 */
function serverTiming({ tiers }: Reading, range: TimeRange): string {
  return TIERS.map((tier) => {
    const { durationMs, samples, places } = tiers[tier];
    const matched = places.flatMap(({ matched, span }) => (matched > 0 && span !== undefined ? [span] : []));
    const spans = spansOf(matched, range.toMs - range.fromMs)
      .map(({ firstMs, lastMs }) => `${Math.floor(firstMs / 1000)}-${Math.floor(lastMs / 1000)}`)
      .join(' ');
    return `${tier};dur=${durationMs.toFixed(1)};desc="${samples} samples";spans="${spans}"`;
  }).join(', ');
}
