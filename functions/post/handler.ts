import { KinesisClient } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { LRUCache } from 'lru-cache';
import { httpHandler } from '../../shared/api/handler';
import { HttpError, reply } from '../../shared/api/http';
import { mapLimited } from '../../shared/concurrency';
import { metaTable, settings, variable } from '../../shared/environment';
import { type Labels, sourceOf } from '../../shared/labels';
import { KnownSeries } from '../../shared/limits/known-series';
import { overLimit } from '../../shared/limits/metered';
import { TenantMeter } from '../../shared/limits/tenant-meter';
import { log } from '../../shared/log';
import { ApiKeys } from '../../shared/meta/api-keys';
import { Catalogue } from '../../shared/meta/catalogue';
import { Hosts } from '../../shared/meta/hosts';
import { Services } from '../../shared/meta/services';
import { type Tenant, Tenants } from '../../shared/meta/tenants';
import { count } from '../../shared/meters';
import { ENV } from '../../shared/names';
import { type DropReason, type SourcePoints, validatePoints } from '../../shared/post/points';
import { recordsOf } from '../../shared/post/records';
import { putRecords, StreamUnavailableError } from '../../shared/post/stream';
import { UsageTable } from '../../shared/usage/usage-table';

const stage = settings();
const { maxSampleAge, resolution } = stage;
const stream = variable(ENV.stream);
// HTTP/1.1: each instance has one request in flight, so HTTP/2, the default, gains nothing, and emulators cut it short.
const kinesis = new KinesisClient({ maxAttempts: 3, requestHandler: new NodeHttpHandler() });
const table = metaTable();
const hosts = new Hosts(table);
const services = new Services(table);
const meter = new TenantMeter(new UsageTable(table), stage);
const knownSeries = new KnownSeries(new Catalogue(table, stage.retention));

/** Hosts and services found to exist, or not, so that the steady state asks no store. */
const known = new LRUCache<string, boolean>({ max: 100_000 });
const KNOWN_MS = 60_000;
const UNKNOWN_MS = 2_000;

/** When a tenant may try new series again: those of a day ago leave by the hour. */
const SERIES_RETRY_S = 3600;
/** What the stream is charged by. */
const STREAM_UNIT_BYTES = 25_000;

async function exists(key: string, look: () => Promise<boolean>): Promise<boolean> {
  const cached = known.get(key);
  if (cached !== undefined) return cached;
  const found = await look();
  known.set(key, found, { ttl: found ? KNOWN_MS : UNKNOWN_MS });
  return found;
}

export const handler = httpHandler(
  { keys: new ApiKeys(table), tenants: new Tenants(table), meter },
  {
    'POST /api/v0/tsdb': async ({ tenant, body }) => {
      const { sources, accepted, dropped } = validate(body, true);
      const checked = await mapLimited([...sources], 16, async ([hostId, points]) => ({
        hostId,
        points,
        isKnown: await exists(`host ${tenant.id} ${hostId}`, async () => {
          const host = await hosts.get(tenant.id, hostId);
          return host !== undefined && host.retiredAt === null;
        }),
      }));
      const taken: [Labels, SourcePoints][] = [];
      let unknown = 0;
      for (const { hostId, points, isKnown } of checked) {
        if (isKnown) taken.push([sourceOf.host(hostId), points]);
        else for (const values of points.values()) unknown += values.size;
      }
      if (taken.length === 0 && dropped.has('tooManyHosts'))
        throw new HttpError(400, 'hostId: more hosts than one request may have; send fewer at a time');
      if (taken.length === 0 && unknown > 0)
        throw new HttpError(404, `no host of the ${checked.length} in the request is known`);
      if (unknown > 0) dropped.set('unknownHost', unknown);
      return acknowledge(tenant, taken, accepted - unknown, dropped);
    },

    'POST /api/v0/services/{serviceName}/tsdb': async ({ tenant, path, body }) => {
      const service = path.serviceName;
      const isKnown = await exists(
        `service ${tenant.id} ${service}`,
        async () => (await services.get(tenant.id, service)) !== undefined,
      );
      if (!isKnown) throw new HttpError(404, `there is no service ${JSON.stringify(service.slice(0, 100))}`);
      const { sources, accepted, dropped } = validate(body, false);
      const taken = [...sources.values()].map((points) => [sourceOf.service(service), points] as const);
      return acknowledge(tenant, taken, accepted, dropped);
    },
  },
);

/** @param points null, which mkr posts when there is nothing to say, is no points */
function validate(points: readonly unknown[] | null, hasHostId: boolean) {
  return validatePoints(points ?? [], hasHostId, {
    nowMs: Date.now(),
    maxAgeMs: maxSampleAge,
    resolutionMs: resolution,
  });
}

/** Answers only when every sample is in the stream (design.md, rule 1). */
async function acknowledge(
  tenant: Tenant,
  sources: readonly (readonly [Labels, SourcePoints])[],
  accepted: number,
  dropped: Map<DropReason, number>,
) {
  if (meter.isFullOfSeries(tenant)) {
    const known = await knownSeries.keep(tenant, sources);
    if (known.kept.length === 0 && known.dropped > 0)
      throw overLimit('series', meter.limits(tenant).series, SERIES_RETRY_S);
    if (known.dropped > 0) dropped.set('seriesLimit', known.dropped);
    return store(tenant, known.kept, accepted - known.dropped, dropped);
  }
  return store(tenant, sources, accepted, dropped);
}

async function store(
  tenant: Tenant,
  sources: readonly (readonly [Labels, SourcePoints])[],
  accepted: number,
  dropped: ReadonlyMap<DropReason, number>,
) {
  const records = recordsOf(tenant, sources);
  try {
    await putRecords(kinesis, stream, records);
  } catch (error) {
    log.error('samples refused', { error: error as Error });
    const message =
      error instanceof StreamUnavailableError ? error.message : 'the stream did not answer; try again';
    throw new HttpError(503, message, { 'retry-after': '5' });
  }
  const sizes = records.map(({ data }) => data.length);
  meter.count(tenant, {
    samples: accepted,
    streamBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    streamUnits: sizes.reduce((sum, bytes) => sum + Math.ceil(bytes / STREAM_UNIT_BYTES), 0),
  });
  count('post', {
    SamplesAccepted: accepted,
    SamplesDropped: [...dropped.values()].reduce((a, b) => a + b, 0),
  });
  return reply(
    200,
    dropped.size === 0 ? { success: true } : { success: true, dropped: Object.fromEntries(dropped) },
  );
}
