import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { snappyCompress } from 'hysnappy';
import { freePort } from '../../scripts/local/server-process';
import { labelsKey, labelsOf } from '../../shared/model/labels';
import type { MemorySampleStore } from '../../shared/promql/memory-store';
import type { QueryRange, QueryResult, ResultSeries } from '../../shared/promql/query';
import { until } from './until';

/** An answer of Prometheus' API. */
export interface Theirs {
  readonly status: string;
  readonly error?: string;
  readonly data?: {
    readonly resultType: string;
    readonly result: unknown;
  };
}

/** A real Prometheus process on loopback, with nothing to scrape. */
export class PrometheusServer {
  private constructor(
    private readonly process: ChildProcess,
    private readonly dir: string,
    readonly url: string,
  ) {}

  static async start(program: string): Promise<PrometheusServer> {
    const dir = mkdtempSync(join(tmpdir(), 'prometheus-'));
    const port = await freePort();
    const config = join(dir, 'prometheus.yml');
    writeFileSync(config, 'storage: {tsdb: {out_of_order_time_window: 10d}}\n');
    const child = spawn(
      program,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(dir, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--web.enable-remote-write-receiver',
      ],
      { stdio: 'ignore' },
    );
    const server = new PrometheusServer(child, dir, `http://127.0.0.1:${port}`);
    await until(
      'Prometheus is ready',
      () =>
        fetch(`${server.url}/-/ready`).then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    );
    return server;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill();
    await ended;
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** Writes all samples, bit for bit. */
  async write(store: MemorySampleStore): Promise<void> {
    const response = await fetch(`${this.url}/api/v1/write`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'snappy' },
      body: snappyCompress(writeRequest(store)),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  }

  instant(query: string, atMs: number): Promise<Theirs> {
    return this.ask('query', { query, time: String(atMs / 1000) });
  }

  range(query: string, { startMs, endMs, stepMs }: QueryRange): Promise<Theirs> {
    const times = { start: startMs / 1000, end: endMs / 1000, step: stepMs / 1000 };
    return this.ask('query_range', {
      query,
      ...Object.fromEntries(Object.entries(times).map(([k, v]) => [k, String(v)])),
    });
  }

  private async ask(path: string, parameters: Record<string, string>): Promise<Theirs> {
    const response = await fetch(`${this.url}/api/v1/${path}`, {
      method: 'POST',
      body: new URLSearchParams(parameters),
    });
    return (await response.json()) as Theirs;
  }
}

/**
 * Encodes a remote write 1.0 message. It is written by hand, because a NaN loses its bits if a library converts it to a
 * number.
 */
function writeRequest(store: MemorySampleStore): Uint8Array {
  const field = (number: number, bytes: Uint8Array) =>
    Buffer.concat([Buffer.of((number << 3) | 2), varint(BigInt(bytes.length)), bytes]);
  const series = store.all().map(({ labels, samples }) =>
    field(
      1,
      Buffer.concat([
        ...labels.map((pair) =>
          field(1, Buffer.concat(pair.map((text, i) => field(i + 1, Buffer.from(text))))),
        ),
        ...samples.map(([ms, bits]) => {
          const value = Buffer.alloc(8);
          value.writeBigUInt64LE(bits);
          return field(
            2,
            Buffer.concat([Buffer.of((1 << 3) | 1), value, Buffer.of(2 << 3), varint(BigInt(ms))]),
          );
        }),
      ]),
    ),
  );
  return Buffer.concat(series);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

function isNear(a: number, b: number, tolerance: number): boolean {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  return Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b));
}

/**
 * Returns how our answer differs from Prometheus' answer; undefined if they agree.
 *
 * @param tolerance largest relative difference at which two values count as equal
 */
export function differenceFrom(
  theirs: Theirs,
  ours: QueryResult | Error,
  tolerance = 1e-12,
): string | undefined {
  if (ours instanceof Error)
    return theirs.status === 'error'
      ? undefined
      : `we fail: ${ours.message}, they answer ${JSON.stringify(theirs.data).slice(0, 300)}`;
  if (theirs.status === 'error') return `they fail: ${theirs.error}`;
  const found = new Map(seriesOf(ours).map((each) => [labelsKey(each.labels), each]));
  const wanted = theirSeries(theirs.data!);
  if (wanted.length !== found.size) return `${found.size} series instead of ${wanted.length}`;
  for (const { labels, timestamps, values } of wanted) {
    const key = labelsKey(labels);
    const own = found.get(key);
    if (own === undefined) return `no series ${key}`;
    if (own.timestamps.length !== timestamps.length)
      return `${key} has ${own.timestamps.length} values instead of ${timestamps.length}`;
    for (let i = 0; i < timestamps.length; i++)
      if (own.timestamps[i] !== timestamps[i] || !isNear(own.values[i]!, values[i]!, tolerance))
        return `${key} at ${timestamps[i]}: ${own.values[i]} instead of ${values[i]}`;
  }
  return undefined;
}

function seriesOf({ value }: QueryResult): readonly ResultSeries[] {
  if (value.type === 'string') return [];
  return value.type === 'scalar' ? [{ labels: [], ...value }] : value.series;
}

function theirSeries({ resultType, result }: NonNullable<Theirs['data']>): ResultSeries[] {
  type Pair = [number, string];
  const columns = (pairs: readonly Pair[]) => ({
    timestamps: Float64Array.from(pairs, ([seconds]) => Math.round(seconds * 1000)),
    values: Float64Array.from(pairs, ([, text]) => Number(text.replace('Inf', 'Infinity'))),
  });
  if (resultType === 'string') return [];
  if (resultType === 'scalar') return [{ labels: [], ...columns([result as Pair]) }];
  return (result as { metric: Record<string, string>; value?: Pair; values?: Pair[] }[]).map(
    ({ metric, value, values }) => ({
      labels: labelsOf(...Object.entries(metric)),
      ...columns(values ?? [value!]),
    }),
  );
}
