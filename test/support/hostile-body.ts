import { HttpError, jsonOf } from '../../shared/http/http';
import { MalformedBytesError } from '../../shared/model/bytes';
import { tenantIdOf } from '../../shared/model/placement';
import { InvalidMetricsJsonError, readMetricsJson } from '../../shared/protocol/otlp/json';
import { otlpMetrics } from '../../shared/protocol/otlp/otlp';
import { decodeMetrics } from '../../shared/protocol/otlp/protobuf';
import { remoteWrite } from '../../shared/protocol/prometheus/remote-write';
import { uncompressBlock } from '../../shared/protocol/prometheus/snappy';
import { MAX_SOURCES, RequestTooLargeError } from '../../shared/protocol/protocol';
import { rowRecords } from '../../shared/stream/row-records';
import { type Encoding, HOSTILE_NOW_MS } from '../unit/protocol/hostile-bodies';

const ACCEPTS = { nowMs: HOSTILE_NOW_MS, maxAgeMs: 86_400_000 };
const TENANT = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 16 }] },
};
const REFUSALS = [RequestTooLargeError, MalformedBytesError, InvalidMetricsJsonError, HttpError];
const MAX_ROWS = 32_768;
const MAX_RECORD_BYTES = 1024 * 1024;

/**
 * Takes a body as post does, up to its records.
 *
 * @returns a sentence that says what became of it
 * @throws {Error} when it is taken beyond the bounds of a request, or fails otherwise than by a refusal
 */
export function takeHostileBody(encoding: Encoding, body: Uint8Array): string {
  try {
    const { sources, samples } = parse(encoding, body);
    const records = rowRecords(TENANT as never, sources);
    const rows = sources.flatMap(([, rows]) => rows);
    const held = rows.reduce((sum, { values }) => sum + values.length, 0);
    const largest = Math.max(0, ...records.map(({ data }) => data.length));
    if (
      held !== samples ||
      rows.length > MAX_ROWS ||
      sources.length > MAX_SOURCES ||
      largest >= MAX_RECORD_BYTES
    )
      throw new Error(
        `${samples} samples announced, ${held} held, in ${rows.length} rows of ${sources.length} sources; largest record ${largest} bytes`,
      );
    return `${samples} samples of ${sources.length} sources in ${records.length} records`;
  } catch (error) {
    if (!REFUSALS.some((refusal) => error instanceof refusal)) throw error;
    return `refused: ${(error as Error).message}`;
  }
}

function parse(encoding: Encoding, body: Uint8Array) {
  if (encoding === 'otlp') return otlpMetrics.parse(decodeMetrics(body), ACCEPTS, undefined);
  if (encoding === 'otlp json')
    return otlpMetrics.parse(readMetricsJson(jsonOf(Buffer.from(body).toString())), ACCEPTS, undefined);
  const version = encoding === 'remote-write 1.0' ? 1 : 2;
  return remoteWrite.parse(uncompressBlock(body), ACCEPTS, { version });
}
