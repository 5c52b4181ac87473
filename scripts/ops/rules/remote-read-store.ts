import { snappyCompress } from 'hysnappy';
import { ByteWriter } from '../../../shared/model/bytes';
import { type Labels, labelsKey, labelsOf } from '../../../shared/model/labels';
import type { Matcher } from '../../../shared/model/matcher';
import type { SampleColumns } from '../../../shared/model/sample-columns';
import type { TimeRange } from '../../../shared/model/selection';
import { bitsOf } from '../../../shared/promql/overlay-store';
import type { SampleStore, SelectedSamples } from '../../../shared/promql/store';
import { uncompressBlock } from '../../../shared/protocol/prometheus/snappy';
import { WireReader, writeInt64, writeMessage } from '../../../shared/protocol/wire';
import { OperatorError, TRIES, waitAfter } from '../invoke';
import type { TenantApi } from '../tenant-api';

const OPERATORS = ['=', '!=', '=~', '!~'] as const;
/** Statuses of a response to a read that selects too much. Reading a shorter range may succeed. */
const TOO_MUCH = new Set([413, 422]);
/** Minimum length of the ranges that a read is split into, in ms. */
const MIN_RANGE_MS = 60_000;

/** Reads a stack's samples through Prometheus' remote read, bit for bit and with stale markers. */
export class RemoteReadStore implements SampleStore {
  constructor(private readonly api: TenantApi) {}

  /**
   * @throws {OperatorError} with the server's message
   */
  async select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    const { fromMs, toMs } = range;
    for (let tries = 1; ; tries++) {
      const response = await this.post(encodeRequest(matchers, range));
      if (response.ok)
        return { series: decodeResponse(new Uint8Array(await response.arrayBuffer())), warnings: [] };
      const { status } = response;
      if (TOO_MUCH.has(status) && toMs - fromMs > MIN_RANGE_MS) {
        const middleMs = Math.floor((fromMs + toMs) / 2);
        const earlier = await this.select(matchers, { fromMs, toMs: middleMs });
        const later = await this.select(matchers, { fromMs: middleMs, toMs });
        return { series: joined(earlier.series, later.series), warnings: [] };
      }
      if (!(status === 429 || status >= 500) || tries === TRIES)
        throw new OperatorError(`samples cannot be read: ${status} ${(await response.text()).slice(0, 500)}`);
      await waitAfter(tries);
    }
  }

  private post(body: Uint8Array): Promise<Response> {
    const headers = { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' };
    return this.api.fetch('/prometheus/api/v1/read', { method: 'POST', headers, body: snappyCompress(body) });
  }
}

/**
 * Encodes a `prometheus.ReadRequest` with one query.
 *
 * @see https://github.com/prometheus/prometheus/blob/main/prompb/remote.proto
 */
function encodeRequest(matchers: readonly Matcher[], { fromMs, toMs }: TimeRange): Uint8Array {
  const request = new ByteWriter(256);
  writeMessage(request, 1, (query) => {
    writeInt64(query.byte(0x08), fromMs);
    // In the protocol, both ends are inclusive.
    writeInt64(query.byte(0x10), toMs - 1);
    for (const matcher of matchers) {
      if (matcher.op === 'in') throw new TypeError('remote read has no operator "in"');
      const { label, op, value } = matcher;
      writeMessage(query, 3, (bytes) =>
        bytes.byte(0x08).uvarint(OPERATORS.indexOf(op)).byte(0x12).text(label).byte(0x1a).text(value),
      );
    }
  });
  return request.finish();
}

function decodeResponse(block: Uint8Array): SampleColumns[] {
  const response = new WireReader(uncompressBlock(block));
  const all: SampleColumns[] = [];
  while (response.next())
    response.message((result) => {
      while (result.next()) all.push(result.message(readSeries));
    });
  return all;
}

function readSeries(reader: WireReader): SampleColumns {
  const pairs: [string, string][] = [];
  const timestamps: number[] = [];
  const bits: bigint[] = [];
  while (reader.next()) {
    if (reader.field === 1) pairs.push(reader.message(readLabel));
    else if (reader.field === 2)
      reader.message((sample) => {
        let [value, timestamp] = [0n, 0];
        while (sample.next()) {
          if (sample.field === 1) value = sample.buffer.readBigUInt64LE(sample.fixed64At());
          else if (sample.field === 2) timestamp = sample.int64();
          else sample.skip();
        }
        timestamps.push(timestamp);
        bits.push(value);
      });
    else reader.skip();
  }
  const values = new Float64Array(BigUint64Array.from(bits).buffer);
  return { labels: labelsOf(...pairs), timestamps: Float64Array.from(timestamps), values };
}

function readLabel(reader: WireReader): [string, string] {
  const pair: [string, string] = ['', ''];
  while (reader.next()) {
    if (reader.field === 1 || reader.field === 2) pair[reader.field - 1] = reader.text();
    else reader.skip();
  }
  return pair;
}

/** Appends the samples of a later range to the same series' samples of an earlier range. */
function joined(earlier: readonly SampleColumns[], later: readonly SampleColumns[]): SampleColumns[] {
  const all = new Map<string, SampleColumns>(earlier.map((each) => [labelsKey(each.labels), each]));
  for (const each of later) {
    const key = labelsKey(each.labels);
    const first = all.get(key);
    all.set(key, first === undefined ? each : concatenated(first.labels, first, each));
  }
  return [...all.values()];
}

function concatenated(labels: Labels, a: SampleColumns, b: SampleColumns): SampleColumns {
  const join = (x: Float64Array, y: Float64Array) => {
    const bits = new BigUint64Array(x.length + y.length);
    bits.set(bitsOf(x));
    bits.set(bitsOf(y), x.length);
    return new Float64Array(bits.buffer);
  };
  return { labels, timestamps: join(a.timestamps, b.timestamps), values: join(a.values, b.values) };
}
