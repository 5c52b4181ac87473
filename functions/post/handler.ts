import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { postDependencies } from '../../shared/compose/post';
import { httpHandler } from '../../shared/http/handler';
import { bodyText } from '../../shared/http/http';
import { labelValue } from '../../shared/model/labels';
import { withMetrics } from '../../shared/platform/meters';
import type { Precision } from '../../shared/protocol/influx/line-reader';
import { influxLines } from '../../shared/protocol/influx/lines';
import { mackerelJson, secondsHint } from '../../shared/protocol/mackerel/json';
import type { Tenant } from '../../shared/tenancy/tenants';
import {
  answerLines,
  answerSamples,
  type LineError,
  tooManyHosts,
  unknownHosts,
  unknownService,
} from './answers';
import { KnownSources } from './known-sources';
import { takeOtlp } from './otlp';
import { takeRemoteWrite } from './remote-write';
import { SampleWriter } from './sample-writer';

const dependencies = postDependencies();
const { meter, resolutionMs } = dependencies;
const known = new KnownSources(dependencies.hosts, dependencies.services);
const writer = new SampleWriter(dependencies);

/** A log line of metrics for each request would cost more than the function's time. */
const METRICS_MS = 10_000;

const answer = httpHandler(dependencies, {
  'POST /api/v0/tsdb': async ({ tenant, body }) => {
    const parsed = mackerelJson.parse(body, acceptedTimes(), { resolutionMs });
    const hint = secondsHint(body, parsed.dropped);
    const { kept, samples, unknown } = await known.keepHosts(
      tenant.id,
      parsed,
      ([source]) => labelValue(source, 'host')!,
    );
    if (kept.length === 0 && parsed.dropped.has('tooManyHosts')) throw tooManyHosts();
    if (kept.length === 0 && unknown > 0) throw unknownHosts(parsed.sources.length);
    if (unknown > 0) parsed.dropped.set('unknownHost', unknown);
    return answerSamples(samples, await writer.write(tenant, kept, samples), parsed.dropped, hint);
  },

  'POST /api/v0/services/{serviceName}/tsdb': async ({ tenant, path, body }) => {
    const service = path.serviceName;
    if (!(await known.hasService(tenant.id, service))) throw unknownService(service);
    const { sources, samples, dropped } = mackerelJson.parse(body, acceptedTimes(), {
      resolutionMs,
      service,
    });
    const hint = secondsHint(body, dropped);
    return answerSamples(samples, await writer.write(tenant, sources, samples), dropped, hint);
  },

  'POST /write': ({ event, tenant, query }) =>
    writeLines(event, tenant, query.precision, (message) => ({ error: message })),

  'POST /api/v2/write': ({ event, tenant, query }) =>
    writeLines(event, tenant, query.precision, (message, line) => ({ code: 'invalid', message, line })),

  'POST /prometheus/api/v1/write': ({ event, tenant }) => takeRemoteWrite(event, tenant, taking(tenant)),

  'POST /v1/metrics': ({ event, tenant }) => takeOtlp(event, tenant, taking(tenant)),
});

export const handler = withMetrics('post', answer, METRICS_MS);

/** Writes the good lines before the answer names the bad ones, as InfluxDB does. */
async function writeLines(
  event: APIGatewayProxyEventV2,
  tenant: Tenant,
  precision: Precision,
  error: LineError,
) {
  const body = Buffer.from(bodyText(event, meter.limits(tenant).bodyBytes));
  const { sources, samples, dropped } = influxLines.parse(body, acceptedTimes(), { precision });
  return answerLines(samples, await writer.write(tenant, sources, samples), dropped, error);
}

function taking(tenant: Tenant) {
  const { metadata } = dependencies;
  return { writer, metadata, accepts: acceptedTimes(), maxBytes: meter.limits(tenant).bodyBytes };
}

function acceptedTimes() {
  return { nowMs: Date.now(), maxAgeMs: dependencies.maxSampleAgeMs };
}
