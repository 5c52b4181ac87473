import { HttpError, jsonOf } from '../../../shared/http/http';
import { MalformedBytesError } from '../../../shared/model/bytes';
import { tenantIdOf } from '../../../shared/model/placement';
import { InvalidMetricsJsonError, readMetricsJson } from '../../../shared/protocol/otlp/json';
import { otlpMetrics } from '../../../shared/protocol/otlp/otlp';
import { decodeMetrics } from '../../../shared/protocol/otlp/protobuf';
import { remoteWrite } from '../../../shared/protocol/prometheus/remote-write';
import { RequestTooLargeError } from '../../../shared/protocol/protocol';
import { rowRecords } from '../../../shared/stream/row-records';
import { type Encoding, HOSTILE_BODIES, HOSTILE_NOW_MS } from './hostile-bodies';

/** `npm run test:long` makes bodies of 3.9 MB. */
const BODY_BYTES = Number(process.env.HOSTILE_BYTES ?? 20_000);
const ACCEPTS = { nowMs: HOSTILE_NOW_MS, maxAgeMs: 86_400_000 };
const tenant = {
  id: tenantIdOf('t'),
  name: 't',
  placement: { epochs: [{ fromDay: '1970-01-01', partitions: 16 }] },
};
const REFUSALS = [RequestTooLargeError, MalformedBytesError, InvalidMetricsJsonError, HttpError];

function parse(encoding: Encoding, body: Uint8Array) {
  if (encoding === 'otlp') return otlpMetrics.parse(decodeMetrics(body), ACCEPTS, undefined);
  if (encoding === 'otlp json')
    return otlpMetrics.parse(readMetricsJson(jsonOf(Buffer.from(body).toString())), ACCEPTS, undefined);
  return remoteWrite.parse(body, ACCEPTS, { version: encoding === 'remote-write 1.0' ? 1 : 2 });
}

describe('a body that is meant to cost far more than its bytes', () => {
  test.each(HOSTILE_BODIES)('of $encoding: $name', ({ encoding, make }) => {
    const body = make(BODY_BYTES);
    const before = process.cpuUsage();
    try {
      const { sources, samples } = parse(encoding, body);
      const records = rowRecords(tenant as never, sources);
      // What is kept names its samples and series within the bounds of a request.
      const kept = sources.flatMap(([, rows]) => rows);
      expect(kept.reduce((sum, { values }) => sum + values.length, 0)).toBe(samples);
      expect(kept.length).toBeLessThanOrEqual(32_768);
      expect(sources.length).toBeLessThanOrEqual(10_000);
      expect(Math.max(0, ...records.map(({ data }) => data.length))).toBeLessThan(1024 * 1024);
    } catch (error) {
      if (!REFUSALS.some((refusal) => error instanceof refusal)) throw error;
    }
    const { user, system } = process.cpuUsage(before);
    // CPU time, which other work on the machine does not change.
    expect((user + system) / 1e6).toBeLessThan(4);
  });
});
