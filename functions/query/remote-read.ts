import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { HttpError, rawBytes, replyBytes } from '../../shared/http/http';
import { MalformedBytesError } from '../../shared/model/bytes';
import type { Matcher } from '../../shared/model/matcher';
import type { SampleColumns } from '../../shared/model/sample-columns';
import type { TimeRange } from '../../shared/model/selection';
import { InvalidPatternError } from '../../shared/model/value-pattern';
import { mapLimited } from '../../shared/platform/concurrency';
import { count } from '../../shared/platform/function-metrics';
import { MAX_REQUEST_BYTES } from '../../shared/platform/names';
import type { SampleStore, SelectedSamples } from '../../shared/promql/store';
import { compareLabelBytes } from '../../shared/promql/vectors';
import {
  decodeReadRequest,
  encodeChunks,
  encodeSamples,
  type ReadRequest,
} from '../../shared/protocol/prometheus/remote-read';
import { uncompressBlock } from '../../shared/protocol/prometheus/snappy';
import { RequestTooLargeError } from '../../shared/protocol/protocol';
import type { Tenant } from '../../shared/tenancy/tenants';
import { queriesOf } from './stores';

/** Number of queries of a request that are read at the same time. */
const PARALLEL = 4;

/**
 * Answers Prometheus' remote read with exact values, including stale markers: as chunks if the reader accepts
 * them, otherwise as samples.
 *
 * @throws {HttpError} 400, 413
 * @see https://prometheus.io/docs/prometheus/latest/querying/remote_read_api/
 */
export async function remoteRead(
  tenant: Tenant,
  event: APIGatewayProxyEventV2,
): Promise<APIGatewayProxyStructuredResultV2> {
  const { queries, acceptsChunks } = requestOf(event);
  const { store } = queriesOf(tenant).begin();
  const results = await mapLimited(queries, PARALLEL, async ({ matchers, startMs, endMs }) => {
    const { series, warnings } = await select(store, matchers, { fromMs: startMs, toMs: endMs + 1 });
    // Fail: the protocol cannot express a warning, and a response without these samples would seem complete.
    if (warnings.length > 0) throw new HttpError(503, warnings[0]!, { 'retry-after': '10' });
    return series
      .filter(({ timestamps }) => timestamps.length > 0)
      .sort((a, b) => compareLabelBytes(a.labels, b.labels));
  });
  count('query', { Reads: queries.length, SamplesRead: sampleCount(results) });
  if (acceptsChunks)
    return replyBytes(encodeChunks(results), {
      'content-type': 'application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse',
    });
  return replyBytes(encodeSamples(results), {
    'content-type': 'application/x-protobuf',
    'content-encoding': 'snappy',
  });
}

async function select(
  store: SampleStore,
  matchers: readonly Matcher[],
  range: TimeRange,
): Promise<SelectedSamples> {
  try {
    return await store.select(matchers, range);
  } catch (error) {
    if (error instanceof InvalidPatternError) throw new HttpError(400, error.message);
    throw error;
  }
}

/**
 * Decodes the request. The body is always a snappy block. The header `Content-Encoding` is ignored, as in
 * Prometheus.
 */
function requestOf(event: APIGatewayProxyEventV2): ReadRequest {
  try {
    return decodeReadRequest(uncompressBlock(rawBytes(event, MAX_REQUEST_BYTES)));
  } catch (error) {
    if (error instanceof RequestTooLargeError) throw new HttpError(413, error.message);
    if (error instanceof MalformedBytesError) throw new HttpError(400, error.message);
    throw error;
  }
}

function sampleCount(results: readonly (readonly SampleColumns[])[]): number {
  return results.flat().reduce((sum, { timestamps }) => sum + timestamps.length, 0);
}
