import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { LRUCache } from 'lru-cache';
import { Catalogue } from '../../shared/catalogue/catalogue';
import { httpHandler } from '../../shared/http/handler';
import { bodyText, HttpError, reply } from '../../shared/http/http';
import { overLimit } from '../../shared/http/metered';
import { FORMATS } from '../../shared/model/formats';
import { type Labels, sourceOf } from '../../shared/model/labels';
import { mapLimited } from '../../shared/platform/concurrency';
import { callDirectly } from '../../shared/platform/direct-call';
import { formatToWrite, metaTable, settings, variable } from '../../shared/platform/environment';
import { count, withMetrics } from '../../shared/platform/meters';
import { ENV } from '../../shared/platform/names';
import { chargeStream, meterStream, putUnitsOf } from '../../shared/platform/units';
import type { Precision } from '../../shared/protocol/influx/line-protocol';
import { readLines } from '../../shared/protocol/influx/line-rows';
import { type DropReason, type SourcePoints, validatePoints } from '../../shared/protocol/mackerel/points';
import { rowsOfPoints, type SourceRow } from '../../shared/protocol/rows';
import { Hosts } from '../../shared/registry/hosts';
import { Services } from '../../shared/registry/services';
import { putRecords } from '../../shared/stream/put';
import { recordsOf } from '../../shared/stream/records';
import { ApiKeys } from '../../shared/tenancy/api-keys';
import { KnownSeries } from '../../shared/tenancy/known-series';
import { TenantMeter } from '../../shared/tenancy/tenant-meter';
import { type Tenant, Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';

const stage = settings();
const { maxSampleAge, resolution } = stage;
const recordFormat = formatToWrite(FORMATS.record.writes, stage.recordFormat);
const stream = variable(ENV.stream);
// HTTP/1.1: each instance has one request in flight, so HTTP/2, the default, gains nothing, and emulators cut it short.
const kinesis = callDirectly(
  meterStream(new KinesisClient({ maxAttempts: 3, requestHandler: new NodeHttpHandler() })),
  'kinesis',
  { PutRecords: PutRecordsCommand },
  chargeStream,
);
const table = metaTable();
const hosts = new Hosts(table);
const services = new Services(table);
const meter = new TenantMeter(new UsageTable(table), stage);
const knownSeries = new KnownSeries(new Catalogue(table, stage.retention));

/** Hosts and services found to exist, or not, so that the steady state asks no store. */
const known = new LRUCache<string, boolean>({ max: 100_000 });
/** Many posts of an agent, which sends one a minute: else nearly each would ask for its host again. */
const KNOWN_MS = 600_000;
const UNKNOWN_MS = 2_000;

/** When a tenant may try new series again: those of a day ago leave by the hour. */
const SERIES_RETRY_S = 3600;
/** A line of metrics for each request would cost more to log than the function's time. */
const METRICS_MS = 10_000;

async function exists(key: string, look: () => Promise<boolean>): Promise<boolean> {
  const cached = known.get(key);
  if (cached !== undefined) return cached;
  const found = await look();
  known.set(key, found, { ttl: found ? KNOWN_MS : UNKNOWN_MS });
  return found;
}

const answer = httpHandler(
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
      const taken: SourceRows[] = [];
      let unknown = 0;
      for (const { hostId, points, isKnown } of checked) {
        if (isKnown) taken.push(rowsOf(sourceOf.host(hostId), points));
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
      const taken = [...sources.values()].map((points) => rowsOf(sourceOf.service(service), points));
      return acknowledge(tenant, taken, accepted, dropped);
    },

    'POST /write': ({ event, tenant, query: { precision } }) =>
      write(event, tenant, precision, (message) => ({ error: message })),

    'POST /api/v2/write': ({ event, tenant, query: { precision } }) =>
      write(event, tenant, precision, (message, line) => ({ code: 'invalid', message, line })),
  },
);

export const handler = withMetrics('post', answer, METRICS_MS);

type SourceRows = readonly [Labels, readonly SourceRow[]];

function rowsOf(source: Labels, points: SourcePoints): SourceRows {
  return [source, rowsOfPoints(source, points)];
}

/** How an answer says what was not written, and the first line that could not be read. */
type Complaint = (message: string, line: number | undefined) => unknown;

/** Line protocol: the good lines are written before an answer complains of the bad ones, as InfluxDB's does. */
async function write(
  event: APIGatewayProxyEventV2,
  tenant: Tenant,
  precision: Precision,
  complaint: Complaint,
) {
  const bytes = Buffer.from(bodyText(event, meter.limits(tenant).bodyBytes));
  const limits = { nowMs: Date.now(), maxAgeMs: maxSampleAge, precision };
  const { sources, accepted, strings, problems, badLines, outOfRange } = readLines(bytes, limits);
  const beyond = await store(tenant, sources, accepted);
  count('post', {
    SamplesAccepted: accepted - beyond,
    SamplesDropped: outOfRange + beyond,
    StringsDropped: strings,
    LinesRefused: badLines,
  });
  if (badLines === 0 && outOfRange === 0 && beyond === 0) return { statusCode: 204 };
  const told = problems.map(({ line, reason }) => `unable to parse line ${line}: ${reason}`);
  if (badLines > problems.length) told.push(`and ${badLines - problems.length} lines more`);
  // Telegraf gives up what it is told so, and goes on.
  if (outOfRange > 0) told.push(`points beyond retention policy dropped=${outOfRange}`);
  if (beyond > 0) told.push(`max-series limit exceeded dropped=${beyond}`);
  const message = `${accepted > beyond ? 'partial write: ' : ''}${told.join('; ')}`;
  return reply(400, complaint(message, problems[0]?.line));
}

/** @param points null, which mkr posts when there is nothing to say, is no points */
function validate(points: readonly unknown[] | null, hasHostId: boolean) {
  return validatePoints(points ?? [], hasHostId, {
    nowMs: Date.now(),
    maxAgeMs: maxSampleAge,
    resolutionMs: resolution,
  });
}

async function acknowledge(
  tenant: Tenant,
  sources: readonly SourceRows[],
  accepted: number,
  dropped: Map<DropReason, number>,
) {
  const beyond = await store(tenant, sources, accepted);
  if (beyond > 0) dropped.set('seriesLimit', beyond);
  count('post', {
    SamplesAccepted: accepted - beyond,
    SamplesDropped: [...dropped.values()].reduce((a, b) => a + b, 0),
  });
  return reply(
    200,
    dropped.size === 0 ? { success: true } : { success: true, dropped: Object.fromEntries(dropped) },
  );
}

/**
 * Returns only when every sample is in the stream (design.md, rule 1).
 *
 * @returns how many were dropped, because the tenant may have no new series
 */
async function store(tenant: Tenant, sources: readonly SourceRows[], accepted: number): Promise<number> {
  if (!meter.isFullOfSeries(tenant)) {
    await put(tenant, sources, accepted);
    return 0;
  }
  const known = await knownSeries.keep(tenant, sources);
  if (known.kept.length === 0 && known.dropped > 0)
    throw overLimit('series', meter.limits(tenant).series, SERIES_RETRY_S);
  await put(tenant, known.kept, accepted - known.dropped);
  return known.dropped;
}

async function put(tenant: Tenant, sources: readonly SourceRows[], accepted: number): Promise<void> {
  const records = recordsOf(tenant, sources, recordFormat);
  await putRecords(kinesis, stream, records);
  const sizes = records.map(({ data }) => data.length);
  meter.count(tenant, {
    samples: accepted,
    streamBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
    streamUnits: sizes.reduce((sum, bytes) => sum + putUnitsOf(bytes), 0),
  });
}
