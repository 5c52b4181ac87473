/**
 * Real Prometheus servers send to the local stack while its functions and its memory are killed.
 *
 * `PROMETHEUS` names their binaries, separated by commas; by default Prometheus 3 is built from its module.
 * Each sends for a minute, in a long run for half an hour. A server that takes OTLP is of version 3, and sends remote write
 * 1.0, then 2.0.
 *
 *     PROMETHEUS=/usr/bin/prometheus LONG=1 npm run test:peers
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { snappyCompress } from 'hysnappy';
import protobuf from 'protobufjs';
import { freePort } from '../../scripts/local/server-process';
import { labelsKey, labelsOf } from '../../shared/model/labels';
import { labelsOfMessages } from '../../shared/protocol/prometheus/series-labels';
import { uncompressBlock } from '../../shared/protocol/prometheus/snappy';
import { decodeWriteRequest } from '../../shared/protocol/prometheus/write-request';
import { type LocalStack, startLocalStack } from '../support/local-stack';
import { IS_LONG } from '../support/long';
import { prometheusBinaries } from '../support/peers';
import { readBits, type SampleBits } from '../support/stack-samples';
import { temporaryDir } from '../support/temporary-dir';
import { until } from '../support/until';

const binaries = (process.env.PROMETHEUS ?? join(prometheusBinaries(), 'prometheus')).split(',');
const MINUTES = IS_LONG ? 30 : 1;
const KILL_EVERY_MS = 20_000;
/** Prometheus' own labels for the targets that it scrapes. */
const JOBS = ['prometheus', 'strange'];

/** The output of a binary, on stdout and stderr. */
function printedBy(binary: string, option: string): string {
  const { stdout, stderr, error } = spawnSync(binary, [option], { encoding: 'utf8' });
  if (error !== undefined) throw error;
  return stdout + stderr;
}

const runs = binaries.flatMap((binary) => {
  const version = /version (\d\S+)/.exec(printedBy(binary, '--version'))?.[1];
  // A server that was built with `go build` does not know its version.
  const name = `Prometheus ${version ?? 'without a version'}`;
  const isThree = printedBy(binary, '--help').includes('web.enable-otlp-receiver');
  const protocols = isThree ? ['1.0', '2.0'] : ['1.0'];
  return protocols.map((protocol) => ({ name, binary, protocol }));
});

/** A target with unusual values. Some of its series come and go, so that stale markers are written. */
function strangeTarget(): Server {
  let scrapes = 0;
  const server = createServer((_, response) => {
    scrapes++;
    const lines = [
      'strange_values{v="nan"} NaN',
      'strange_values{v="inf"} +Inf',
      'strange_values{v="minf"} -Inf',
      'strange_values{v="mzero"} -0',
      'strange_values{v="denormal"} 5e-324',
      `strange_count ${scrapes}`,
      ...(scrapes % 4 < 2 ? ['strange_now_and_then 1'] : []),
    ];
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    response.end(`${lines.join('\n')}\n`);
  });
  server.listen(0, '127.0.0.1');
  return server;
}

const ReadRequest = protobuf
  .parse(`syntax = "proto3"; message ReadRequest { repeated Query queries = 1; }
    message Query { int64 start_timestamp_ms = 1; int64 end_timestamp_ms = 2; repeated Matcher matchers = 3; }
    message Matcher { int32 type = 1; string name = 2; string value = 3; }
    message ReadResponse { repeated Result results = 1; } message Result { bytes any = 1; }`)
  .root.lookupType('ReadRequest');

/** Samples that Prometheus has stored, by its remote read. */
async function storedBy(url: string, fromMs: number, toMs: number): Promise<SampleBits> {
  const matchers = [{ type: 2, name: 'job', value: JOBS.join('|') }];
  const query = { startTimestampMs: fromMs, endTimestampMs: toMs, matchers };
  const body = ReadRequest.encode(ReadRequest.fromObject({ queries: [query] })).finish();
  const answer = await fetch(`${url}/api/v1/read`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
    body: snappyCompress(body),
  });
  if (!answer.ok) throw new Error(`remote read: ${answer.status} ${await answer.text()}`);
  // A response is a list of results. This one has one result: a list of series, encoded as in a write request
  // 1.0.
  const response = Buffer.from(uncompressBlock(new Uint8Array(await answer.arrayBuffer())));
  let at = 1;
  while (response[at]! > 127) at++;
  const { samples, labels, bytes } = decodeWriteRequest(response.subarray(at + 1), 1);
  const keys = labels.map((encoded) =>
    labelsKey(labelsOfMessages(encoded.bytes, encoded.start, encoded.end)),
  );
  const stored = new Map<string, Map<number, string>>();
  for (let i = 0; i < samples.count; i++) {
    const key = keys[samples.series[i]!]!;
    const valueAt = samples.valuesAt[i]!;
    const bits =
      valueAt === -1
        ? '0'.repeat(16)
        : Buffer.from(bytes.slice(valueAt, valueAt + 8))
            .reverse()
            .toString('hex');
    const series = stored.get(key) ?? new Map<number, string>();
    stored.set(key, series.set(samples.timestamps[i]!, bits));
  }
  return stored;
}

describe.each(runs)('$name with remote write $protocol', ({ binary, protocol }) => {
  const dir = temporaryDir();
  let target: Server;
  let stack: LocalStack;
  let prometheus: ChildProcess;
  let url: string;

  beforeAll(async () => {
    target = strangeTarget();
    stack = await startLocalStack({});
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const { port: targetPort } = target.address() as AddressInfo;
    const message = protocol === '2.0' ? '\n    protobuf_message: io.prometheus.write.v2.Request' : '';
    writeFileSync(
      join(dir, 'prometheus.yml'),
      `global: { scrape_interval: 2s }
scrape_configs:
  - job_name: prometheus
    static_configs: [{ targets: ['127.0.0.1:${port}'] }]
  - job_name: strange
    static_configs: [{ targets: ['127.0.0.1:${targetPort}'] }]
remote_write:
  - url: ${stack.url}/prometheus/api/v1/write${message}
    authorization: { credentials: ${stack.apiKey} }
`,
    );
    prometheus = spawn(
      binary,
      [
        `--config.file=${join(dir, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(dir, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    prometheus.stderr!.resume();
    await until(
      'Prometheus',
      () =>
        fetch(`${url}/-/ready`).then(
          ({ ok }) => ok,
          () => false,
        ),
      (isReady) => isReady,
    );
  });

  afterAll(async () => {
    if (prometheus !== undefined) {
      const gone = once(prometheus, 'exit');
      prometheus.kill('SIGTERM');
      await gone;
    }
    target?.close();
    await stack?.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  test(`what can be read after ${MINUTES} minutes of kills is what it has stored, bit for bit`, async () => {
    const startMs = Date.now();
    const endMs = startMs + MINUTES * 60_000;
    let kills = 0;
    while (Date.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(KILL_EVERY_MS, endMs - Date.now())));
      if (++kills % 3 === 0) stack.killHot();
      else await stack.killFunctions();
    }
    // Prometheus repeats a failed request for as long as it keeps its log, so all of these samples arrive in
    // the end.
    const matchers = [{ label: 'job', op: 'in', values: JOBS } as const];
    const range = { fromMs: startMs - 60_000, toMs: endMs };
    const stored = await storedBy(url, range.fromMs, range.toMs - 1);
    const count = (bits: SampleBits) => [...bits.values()].reduce((sum, { size }) => sum + size, 0);
    let read: SampleBits = new Map();
    await until(
      'all samples',
      async () => {
        try {
          read = await readBits(stack, matchers, range);
          return { found: count(read), stored: count(stored) };
        } catch (error) {
          return { error: String(error) };
        }
      },
      (seen) => 'found' in seen && seen.found! >= seen.stored!,
    );
    const plain = (bits: SampleBits) =>
      [...bits]
        .flatMap(([key, samples]) => [...samples].map(([time, value]) => `${key} ${time} ${value}`))
        .sort();
    const theirs = plain(stored);
    const ours = plain(read);
    const stale = theirs.filter((sample) => sample.endsWith(' 7ff0000000000002'));
    console.log(
      `${kills} kills; ${read.size} series, ${ours.length} samples, ${stale.length} of them stale markers, ` +
        `${theirs.filter((sample) => sample.endsWith(' 7ff8000000000001')).length} NaN`,
    );
    expect(stale.length).toBeGreaterThan(0);
    expect(
      read.has(
        labelsKey(
          labelsOf(
            ['__name__', 'strange_count'],
            ['instance', `127.0.0.1:${(target.address() as AddressInfo).port}`],
            ['job', 'strange'],
          ),
        ),
      ),
    ).toBe(true);
    expect(ours.length).toBe(theirs.length);
    expect(ours).toEqual(theirs);
  });
});
