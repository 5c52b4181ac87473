import { isUtf8 } from 'node:buffer';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import type { RowSeries } from '../../shared/dictionary/series-source';
import { bodyBytes, HttpError, jsonOf } from '../../shared/http/http';
import { MalformedBytesError } from '../../shared/model/bytes';
import { count } from '../../shared/platform/function-metrics';
import { countPoints } from '../../shared/protocol/otlp/count-points';
import { InvalidMetricsJsonError, readMetricsJson } from '../../shared/protocol/otlp/json';
import type { ReadMetrics } from '../../shared/protocol/otlp/metrics';
import { otlpMetrics } from '../../shared/protocol/otlp/otlp';
import { decodeMetrics, encodePartialSuccess } from '../../shared/protocol/otlp/protobuf';
import { type AcceptedTimes, RequestTooLargeError } from '../../shared/protocol/protocol';
import type { Tenant } from '../../shared/tenancy/tenants';
import type { WriteContext } from './write-context';

const PROTOBUF = 'application/x-protobuf';
const JSON_TYPE = 'application/json';
type Encoding = typeof PROTOBUF | typeof JSON_TYPE;

/**
 * Handles a request with OTLP metrics. Writes the samples that can be stored, and reports the others as a partial
 * success.
 *
 * @see https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
export async function handleOtlp(
  event: APIGatewayProxyEventV2,
  tenant: Tenant,
  { writer, dictionary, metadata, accepts, maxBytes, charge }: WriteContext,
): Promise<APIGatewayProxyStructuredResultV2> {
  const encoding = encodingOf(event.headers['content-type']);
  const body = bodyBytes(event, maxBytes, (bytes) => charge.body(bytes));
  const { sources, samples, dropped } = parse(dictionary, body, encoding, accepts);
  charge.samples(samples + dropped.samples);
  const cut: RowSeries[] = [...dropped.cut];
  const overLimit = await writer.write(tenant, sources, samples, (row) => cut.push(row));
  await metadata.offer(tenant.id, dropped.metadata);
  count('post', {
    SamplesAccepted: samples - overLimit,
    SamplesDropped: dropped.samples + overLimit,
    ExemplarsDropped: dropped.exemplars,
  });
  const reasons = [...dropped.reasons];
  if (overLimit > 0) reasons.push("new series beyond the tenant's limit were not stored");
  const rejected = dropped.rejected + countPoints(dictionary, dropped.metadata, cut);
  return respond(encoding, rejected, reasons.join('; '));
}

/**
 * Returns the encoding of a request.
 *
 * @throws {HttpError} 415 for any other content type
 */
function encodingOf(contentType = ''): Encoding {
  const type = contentType.split(';')[0]!.trim().toLowerCase();
  if (type === PROTOBUF || type === JSON_TYPE) return type;
  throw new HttpError(
    415,
    `content-type: expected ${PROTOBUF} or ${JSON_TYPE}, got ${JSON.stringify(contentType.slice(0, 100))}`,
  );
}

/**
 * Parses a request's body.
 *
 * @throws {HttpError} 400 if it is malformed, 413 if it is too large
 */
function parse(dictionary: SeriesDictionary, bytes: Buffer, encoding: Encoding, accepts: AcceptedTimes) {
  try {
    return otlpMetrics.parse(dictionary, readerOf(bytes, encoding), accepts, undefined);
  } catch (error) {
    if (error instanceof MalformedBytesError || error instanceof InvalidMetricsJsonError)
      throw new HttpError(400, error.message);
    if (error instanceof RequestTooLargeError) throw new HttpError(413, error.message);
    throw error;
  }
}

function readerOf(bytes: Buffer, encoding: Encoding): ReadMetrics {
  if (encoding === PROTOBUF) return decodeMetrics(bytes);
  if (!isUtf8(bytes)) throw new HttpError(400, 'the body is not UTF-8');
  return readMetricsJson(jsonOf(bytes.toString('utf8')) ?? {});
}

/**
 * Answers in the encoding of the request. The response's content type has no parameters, since the
 * OpenTelemetry Collector compares it literally.
 */
function respond(encoding: Encoding, rejected: number, message: string): APIGatewayProxyStructuredResultV2 {
  const headers = { 'content-type': encoding, 'cache-control': 'no-store' };
  if (encoding === JSON_TYPE) {
    const partialSuccess = { rejectedDataPoints: String(rejected), errorMessage: message };
    const isWhole = rejected === 0 && message === '';
    return { statusCode: 200, headers, body: JSON.stringify(isWhole ? {} : { partialSuccess }) };
  }
  const body = Buffer.from(encodePartialSuccess(rejected, message)).toString('base64');
  return { statusCode: 200, headers, body, isBase64Encoded: true };
}
