import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { encodingOf, HttpError, rawBytes, unsupportedEncoding } from '../../shared/http/http';
import { MalformedBytesError } from '../../shared/model/bytes';
import { count } from '../../shared/platform/function-metrics';
import { type DroppedWrite, remoteWrite } from '../../shared/protocol/prometheus/remote-write';
import { uncompressBlock } from '../../shared/protocol/prometheus/snappy';
import type { RemoteWriteVersion } from '../../shared/protocol/prometheus/write-request';
import { RequestTooLargeError, timeBoundText } from '../../shared/protocol/protocol';
import type { Tenant } from '../../shared/tenancy/tenants';
import type { WriteContext } from './write-context';

const VERSION_1 = 'prometheus.WriteRequest';
const VERSION_2 = 'io.prometheus.write.v2.Request';

/**
 * Handles a remote-write request. Writes the valid data, and then reports the invalid data.
 *
 * @see https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/
 */
export async function handleRemoteWrite(
  event: APIGatewayProxyEventV2,
  tenant: Tenant,
  context: WriteContext,
): Promise<APIGatewayProxyStructuredResultV2> {
  const { writer, metadata, accepts, maxBytes, charge } = context;
  const version = versionOf(event.headers['content-type']);
  // Without the header, assume a snappy block: some senders omit the header, and Prometheus accepts that.
  const encoding = encodingOf(event, 'snappy');
  if (encoding !== 'snappy') throw unsupportedEncoding('snappy', encoding);
  const { sources, samples, dropped } = parse(rawBytes(event, maxBytes), version, context);
  const { invalid, tooOld, tooNew, beyond, histograms, exemplars } = dropped;
  charge.samples(samples + invalid + tooOld + tooNew + beyond + histograms + exemplars);
  const overLimit = await writer.write(tenant, sources, samples);
  await metadata.offer(tenant.id, dropped.metadata);
  return respond(version, samples - overLimit, overLimit, dropped, accepts.maxAgeMs);
}

/**
 * Returns the version of the protocol that a content type names.
 *
 * @throws {HttpError} 415 for any other content type
 */
function versionOf(contentType = ''): RemoteWriteVersion {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim());
  if (type === '') return 1;
  const proto = parameters
    .map((each) => /^proto="?([^"]*)"?$/i.exec(each)?.[1])
    .find((each) => each !== undefined);
  if (type.toLowerCase() === 'application/x-protobuf') {
    if (proto === undefined || proto === VERSION_1) return 1;
    if (proto === VERSION_2) return 2;
  }
  throw new HttpError(
    415,
    `content-type: expected application/x-protobuf with proto=${VERSION_1} or proto=${VERSION_2}, got ${JSON.stringify(contentType.slice(0, 100))}`,
  );
}

function parse(
  bytes: Uint8Array,
  version: RemoteWriteVersion,
  { dictionary, accepts, charge }: WriteContext,
) {
  try {
    const body = uncompressBlock(bytes);
    charge.body(body.length);
    return remoteWrite.parse(dictionary, body, accepts, { version });
  } catch (error) {
    if (error instanceof RequestTooLargeError) throw new HttpError(413, error.message);
    if (error instanceof MalformedBytesError) throw new HttpError(400, error.message);
    throw error;
  }
}

/**
 * Answers 204, or 400 if anything was left out. A sender logs a 400, and does not send the request again. Version 2 of
 * the protocol forbids reporting success if only a part of the data was stored. Data that is not supported counts as
 * not stored.
 */
function respond(
  version: RemoteWriteVersion,
  written: number,
  overLimit: number,
  { invalid, tooOld, tooNew, beyond, empty, histograms, exemplars, reasons }: DroppedWrite,
  maxAgeMs: number,
): APIGatewayProxyStructuredResultV2 {
  count('post', {
    SamplesAccepted: written,
    SamplesDropped: invalid + tooOld + tooNew + beyond + overLimit,
    HistogramsDropped: histograms,
    ExemplarsDropped: exemplars,
  });
  const refused = [
    [invalid, 'samples of invalid series'],
    [tooOld, `samples ${timeBoundText('tooOld', maxAgeMs)}`],
    [tooNew, `samples ${timeBoundText('tooNew', maxAgeMs)}`],
    [beyond, 'samples beyond the limit of one request'],
    [overLimit, "samples of new series beyond the tenant's limit"],
    [empty, 'series without a sample'],
    // Version 1 does not say how to answer histograms and exemplars. A 400 would make senders log an error for each
    // batch, so only senders of version 2 get a 400.
    [version === 2 ? histograms : 0, 'native histograms, which are not stored'],
    [version === 2 ? exemplars : 0, 'exemplars, which are not stored'],
  ] as const;
  const named = refused.filter(([times]) => times > 0).map(([times, what]) => `${times} ${what}`);
  // Version 1 does not have these headers. But if the response is a 400, they keep Prometheus from counting the whole
  // batch as failed.
  const headers = {
    'x-prometheus-remote-write-samples-written': String(written),
    'x-prometheus-remote-write-histograms-written': '0',
    'x-prometheus-remote-write-exemplars-written': '0',
  };
  if (named.length === 0) return { statusCode: 204, ...(version === 2 && { headers }) };
  return {
    statusCode: 400,
    headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' },
    body: `dropped: ${named.join(', ')}${reasons.length > 0 ? `. ${reasons.join('; ')}` : ''}`,
  };
}
