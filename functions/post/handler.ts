import { postDependencies } from '../../shared/compose/post';
import { withFunctionUrl } from '../../shared/http/function-url';
import { httpHandler } from '../../shared/http/handler';
import { labelValue } from '../../shared/model/labels';
import { withMetrics } from '../../shared/platform/function-metrics';
import { ENV } from '../../shared/platform/names';
import { dropHint, mackerelJson } from '../../shared/protocol/mackerel/json';
import type { SampleCharge } from '../../shared/tenancy/sample-charge';
import type { Tenant } from '../../shared/tenancy/tenants';
import { handleLines } from './lines';
import { handleOtlp } from './otlp';
import { RegisteredSources } from './registered-sources';
import { handleRemoteWrite } from './remote-write';
import { respondToSamples, tooManyHosts, unknownHosts, unknownService } from './responses';
import type { WriteContext } from './write-context';

const dependencies = postDependencies();
const { dictionaries, meter, writer, resolutionMs, maxSampleAgeMs } = dependencies;
const known = new RegisteredSources(dependencies.hosts, dependencies.services);

/**
 * Minimum time between two log lines with metrics, in ms. A log line for each request would cost more than running the
 * request.
 */
const METRICS_MS = 10_000;

const handle = httpHandler(dependencies, {
  'POST /api/v0/tsdb': async ({ tenant, body, charge }) => {
    charge.samples(body?.length ?? 0);
    const parsed = mackerelJson.parse(dictionaries.of(tenant.id), body, acceptedTimes(), {
      resolutionMs,
    });
    const hint = dropHint(body, parsed.dropped, maxSampleAgeMs);
    const { kept, samples, unknown } = await known.keepHosts(
      tenant.id,
      parsed,
      ([source]) => labelValue(source.labels, 'host')!,
    );
    if (kept.length === 0 && parsed.dropped.has('tooManyHosts')) throw tooManyHosts();
    if (kept.length === 0 && unknown > 0) throw unknownHosts(parsed.sources.length);
    if (unknown > 0) parsed.dropped.set('unknownHost', unknown);
    return respondToSamples(samples, await writer.write(tenant, kept, samples), parsed.dropped, hint);
  },

  'POST /api/v0/services/{serviceName}/tsdb': async ({ tenant, path, body, charge }) => {
    charge.samples(body?.length ?? 0);
    const service = path.serviceName;
    if (!(await known.hasService(tenant.id, service))) throw unknownService(service);
    const { sources, samples, dropped } = mackerelJson.parse(
      dictionaries.of(tenant.id),
      body,
      acceptedTimes(),
      {
        resolutionMs,
        service,
      },
    );
    const hint = dropHint(body, dropped, maxSampleAgeMs);
    return respondToSamples(samples, await writer.write(tenant, sources, samples), dropped, hint);
  },

  'POST /write': ({ event, tenant, query, charge }) =>
    handleLines(event, tenant, query.precision, writeContext(tenant, charge), ({ message }) => ({
      error: message,
    })),

  'POST /api/v2/write': ({ event, tenant, query, charge }) =>
    handleLines(event, tenant, query.precision, writeContext(tenant, charge), ({ message, problems }) => ({
      code: 'invalid',
      message,
      line: problems[0]?.line,
    })),

  'POST /api/v3/write_lp': ({ event, tenant, query, charge }) =>
    handleLines(event, tenant, query.precision, writeContext(tenant, charge), ({ message, problems }) => ({
      error: message,
      // Leave the field that quotes the line empty: neither logs nor responses may quote request bodies.
      data: problems.map(({ line, reason }) => ({
        original_line: '',
        line_number: line,
        error_message: reason,
      })),
    })),

  'POST /prometheus/api/v1/write': ({ event, tenant, charge }) =>
    handleRemoteWrite(event, tenant, writeContext(tenant, charge)),

  'POST /v1/metrics': ({ event, tenant, charge }) => handleOtlp(event, tenant, writeContext(tenant, charge)),
});

const handleAtAnyUrl = withFunctionUrl('post', process.env[ENV.apiUrl], handle);

export const handler = withMetrics('post', handleAtAnyUrl, METRICS_MS);

function writeContext(tenant: Tenant, charge: SampleCharge): WriteContext {
  const { metadata } = dependencies;
  return {
    writer,
    dictionary: dictionaries.of(tenant.id),
    metadata,
    accepts: acceptedTimes(),
    maxBytes: meter.limits(tenant).bodyBytes,
    charge,
  };
}

function acceptedTimes() {
  return { nowMs: Date.now(), maxAgeMs: maxSampleAgeMs };
}
