import { SeriesDictionaries } from '../../shared/dictionary/dictionaries';
import { HttpError, jsonOf } from '../../shared/http/http';
import { CommonLayouts } from '../../shared/ingest/common-layouts';
import { byPartition, reducePartition } from '../../shared/ingest/reduce';
import { MalformedBytesError } from '../../shared/model/bytes';
import { CACHES } from '../../shared/model/cache-budgets';
import type { Id } from '../../shared/model/id';
import { tenantIdOf } from '../../shared/model/placement';
import { MAX_LINES, MAX_SOURCES } from '../../shared/protocol/body-bounds';
import { influxLines } from '../../shared/protocol/influx/lines';
import { InvalidMetricsJsonError, readMetricsJson } from '../../shared/protocol/otlp/json';
import { otlpMetrics } from '../../shared/protocol/otlp/otlp';
import { decodeMetrics } from '../../shared/protocol/otlp/protobuf';
import { remoteWrite } from '../../shared/protocol/prometheus/remote-write';
import { uncompressBlock } from '../../shared/protocol/prometheus/snappy';
import { RequestTooLargeError } from '../../shared/protocol/protocol';
import { Pools } from '../../shared/stream/pools';
import { decodeRecord } from '../../shared/stream/record-decoder';
import { rowRecords } from '../../shared/stream/row-records';
import { type Encoding, HOSTILE_NOW_MS } from '../unit/protocol/hostile-bodies';

const ACCEPTS = { nowMs: HOSTILE_NOW_MS, maxAgeMs: 86_400_000 };
const TENANT = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 16 }] },
};
const DICTIONARIES = new SeriesDictionaries(CACHES.seriesDictionaries);
const REFUSALS = [RequestTooLargeError, MalformedBytesError, InvalidMetricsJsonError, HttpError];
const MAX_RECORD_BYTES = 1024 * 1024;

/** Treats every source as new, so that post makes as many pools as it can. */
const NEW_SOURCES = {
  find: async () => new Map(),
  join: async (_: Id, pools: ReadonlyMap<Id, Id>) => new Map(Array.from(pools, ([id, pool]) => [id, pool])),
};

export interface TakenBody {
  /** A sentence that says whether the body was accepted or rejected, with the reason. */
  readonly outcome: string;
  readonly records: readonly Uint8Array[];
}

/**
 * Takes a body as post does, up to its records.
 *
 * @throws {Error} if a body that exceeds the limits of a request is accepted, or if a body fails in any way other than
 *   being refused
 */
export async function takeHostileBody(encoding: Encoding, body: Uint8Array): Promise<TakenBody> {
  try {
    const { sources, samples } = parse(encoding, body);
    await new Pools(NEW_SOURCES).assign(sources);
    const records = rowRecords(TENANT as never, sources);
    const rows = sources.flatMap(([, rows]) => rows);
    const held = rows.reduce((sum, { values }) => sum + values.length, 0);
    const largest = Math.max(0, ...records.map(({ data }) => data.length));
    if (
      held !== samples ||
      // Line protocol may produce one row per line. The other protocols produce at most half as many.
      rows.length > MAX_LINES ||
      sources.length > MAX_SOURCES ||
      largest >= MAX_RECORD_BYTES
    )
      throw new Error(
        `${samples} samples announced, ${held} held, in ${rows.length} rows of ${sources.length} sources; largest record ${largest} bytes`,
      );
    return {
      outcome: `${samples} samples of ${sources.length} sources in ${records.length} records`,
      records: records.map(({ data }) => data),
    };
  } catch (error) {
    if (!REFUSALS.some((refusal) => error instanceof refusal)) throw error;
    return { outcome: `refused: ${(error as Error).message}`, records: [] };
  }
}

/** Reduces records as the ingester does. @returns CPU seconds */
export function reduceHostileRecords(records: readonly Uint8Array[]): number {
  const before = process.cpuUsage();
  const arrived = records.map((data, index) => ({
    record: decodeRecord(data),
    version: { arrivalMs: 1, sequence: BigInt(index) },
    index,
  }));
  const commonLayouts = new CommonLayouts();
  for (const each of byPartition(arrived)) reducePartition(each, 3_600_000, commonLayouts);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function parse(encoding: Encoding, body: Uint8Array) {
  if (encoding === 'lines')
    return influxLines.parse(DICTIONARIES.of(TENANT.id), body, ACCEPTS, { precision: 'ms' });
  if (encoding === 'otlp')
    return otlpMetrics.parse(DICTIONARIES.of(TENANT.id), decodeMetrics(body), ACCEPTS, undefined);
  if (encoding === 'otlp json')
    return otlpMetrics.parse(
      DICTIONARIES.of(TENANT.id),
      readMetricsJson(jsonOf(Buffer.from(body).toString())),
      ACCEPTS,
      undefined,
    );
  const version = encoding === 'remote-write 1.0' ? 1 : 2;
  return remoteWrite.parse(DICTIONARIES.of(TENANT.id), uncompressBlock(body), ACCEPTS, { version });
}
