import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RemoteReadStore } from '../../../scripts/ops/rules/remote-read-store';
import { TenantApi } from '../../../scripts/ops/tenant-api';
import { labelsOf } from '../../../shared/model/labels';
import { equals } from '../../../shared/model/matcher';
import type { SampleColumns } from '../../../shared/model/sample-columns';
import { MemorySampleStore, STALE_BITS } from '../../../shared/promql/memory-store';
import { decodeReadRequest, encodeSamples } from '../../../shared/protocol/prometheus/remote-read';
import { uncompressBlock } from '../../../shared/protocol/prometheus/snappy';

const MINUTE = 60_000;
const START_MS = Date.parse('2026-11-23T00:00:00Z');
const A = labelsOf(['__name__', 'load'], ['job', 'a']);
const B = labelsOf(['__name__', 'load'], ['job', 'b']);

/**
 * A server of remote read. It answers the first requests with `statuses`, and refuses to return more than
 * `maxSamples` samples.
 */
const stored = new MemorySampleStore();
let statuses: number[] = [];
let maxSamples = Infinity;
let requests = 0;
const server = createServer(async (request, response) => {
  requests++;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { queries } = decodeReadRequest(uncompressBlock(Buffer.concat(chunks)));
  const [{ matchers, startMs, endMs }] = queries as [(typeof queries)[number]];
  const { series } = await stored.select(matchers, { fromMs: startMs, toMs: endMs + 1 });
  const found = series.filter(({ timestamps }) => timestamps.length > 0);
  const samples = found.reduce((sum, { timestamps }) => sum + timestamps.length, 0);
  const status = statuses.shift() ?? (samples > maxSamples ? 413 : 200);
  response.statusCode = status;
  response.end(status === 200 ? encodeSamples([found]) : 'the reason');
});
let url = '';

beforeAll(async () => {
  for (let i = 0; i < 100; i++) stored.add(A, START_MS + i * MINUTE, i === 7 ? STALE_BITS : i);
  for (let i = 50; i < 60; i++) stored.add(B, START_MS + i * MINUTE, -i);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => void server.close());

beforeEach(() => {
  [statuses, maxSamples, requests] = [[], Infinity, 0];
});

const read = (fromMinute: number, toMinute: number, value = 'load') =>
  new RemoteReadStore(new TenantApi(url, 'key')).select([equals('__name__', value)], {
    fromMs: START_MS + fromMinute * MINUTE,
    toMs: START_MS + toMinute * MINUTE,
  });

/** Times and bits, which tell a stale marker from another NaN. */
function shown(series: readonly SampleColumns[]) {
  return series.map(({ labels, timestamps, values }) => ({
    labels,
    times: [...timestamps],
    bits: [...new BigUint64Array(values.buffer, values.byteOffset, values.length)],
  }));
}

test('remote read returns the stored samples of a half-open range, bit for bit', async () => {
  const range = { fromMs: START_MS + 5 * MINUTE, toMs: START_MS + 55 * MINUTE };
  const expected = shown((await stored.select([], range)).series);
  expect(shown((await read(5, 55)).series)).toEqual(expected);
  expect((await read(0, 100, 'other')).series).toEqual([]);
});

test('a range with more than an answer holds is read in parts', async () => {
  const whole = shown((await read(0, 100)).series);
  requests = 0;
  maxSamples = 20;
  expect(shown((await read(0, 100)).series)).toEqual(whole);
  expect(requests).toBeGreaterThan(5);
});

test('a server that is busy is asked again', async () => {
  statuses = [503, 429];
  expect((await read(0, 10)).series).toHaveLength(1);
  expect(requests).toBe(3);
});

test("a read that the server refuses fails with the server's reason", async () => {
  statuses = [401];
  await expect(read(0, 10)).rejects.toThrow('samples cannot be read: 401 the reason');
  maxSamples = 0;
  await expect(read(0, 2)).rejects.toThrow('samples cannot be read: 413 the reason');
});
