/** `npm run bench -- kudu`: a sample of each device every second, and their sums, as in the study on Apache Kudu. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { mapLimited } from '../../shared/platform/concurrency';
import { startStack } from '../local/stack';
import { parseCount } from '../ops/option-values';
import { quantile } from './quantile';

interface Options {
  readonly devices: number;
  readonly seconds: number;
  readonly late: number;
  readonly window: string;
  readonly flushDelay: string;
  readonly json?: boolean;
}

interface Result {
  readonly devices: number;
  readonly seconds: number;
  readonly window: string;
  /** From when a write is due until it starts; the study allows 1 s. */
  readonly writeDelayP99Ms: number;
  readonly writeDelayMaxMs: number;
  readonly writeErrors: number;
  /** Time to sum a minute of all devices; the study allows a minute. */
  readonly aggregateP99Ms: number;
  readonly aggregateMaxMs: number;
  readonly aggregateErrors: number;
  /** Whether every sum of a minute, an hour and a day equals the one counted beside it. */
  readonly exact: boolean;
  /** Median time of a read in the last fifth of the run over the first. */
  readonly drift: number;
  /** Whether the study's four conditions hold. */
  readonly holds: boolean;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60_000;
const STEPS_MS = [MINUTE_MS, 3_600_000, 86_400_000];
const DEVICES_OF_HOST = 100;
const HOSTS_OF_REQUEST = 20;
/** The study's clients. */
const CLIENTS = 20;
const READERS = 4;
/** A late sample is posted so long after its time: after its minute was summed, or just before. */
const LATE_MS = 90_000;
/** A minute is summed so long after its end. */
const SUM_AFTER_MS = 60_000;
const NAMES = Array.from(
  { length: DEVICES_OF_HOST },
  (_, device) => `device_d${String(device).padStart(2, '0')}`,
);

/** @param args what follows `kudu` on the command line */
export async function benchKudu(args: string[]): Promise<void> {
  const command = new Command('bench kudu')
    .description(
      'Posts a sample of each device every second, and sums each minute of each device a minute after its end, as in the study on ' +
        'Apache Kudu; late samples included. Afterwards, every minute, hour and day is summed again, and held against an independent ' +
        "count. The study's conditions: no write starts more than 1 s late, none fails, no sum of all devices takes over a minute, none fails.",
    )
    .option('--devices <n>', 'devices, 100 a host', parseCount(10_000_000), 10_000)
    .option('--seconds <n>', 'how long', parseCount(86_400), 180)
    .option('--late <percent>', `samples that are posted ${LATE_MS / 1000} s late`, Number, 5)
    .option('--window <duration>', "length of a window, the study's range partition", '1h')
    .option('--flush-delay <duration>', 'how long a window stays in memory after its end', '10m')
    .option('--json', 'one object on stdout, as the last line')
    .addHelpText(
      'after',
      '\nThe local stack is `npm start`: the functions as they are deployed, Valkey, and stand-ins for API Gateway, Kinesis, DynamoDB\n' +
        'and S3; clients and all of these share this machine.',
    );
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const settings = {
    window: options.window,
    flushDelay: options.flushDelay,
    maxSamplesPerMinute: '1000000000',
    maxSeries: '100000000',
    maxHosts: '1000000',
    requestsPerSecond: '100000',
    requestBurst: '100000',
  };
  const stack = await startStack({ port: 0, dataDir: undefined, settings, report: () => {} });
  try {
    const result = await new Devices(stack.addresses.url, stack.addresses.apiKey, options).run();
    process.stderr.write(
      `${result.devices} devices, ${result.seconds} s, window ${result.window}: writes late by p99 ${result.writeDelayP99Ms} ms, ` +
        `at most ${result.writeDelayMaxMs} ms, ${result.writeErrors} failed; a minute summed in at most ${result.aggregateMaxMs} ms, ` +
        `${result.aggregateErrors} failed; drift ${result.drift.toFixed(2)}; sums ${result.exact ? 'exact' : 'WRONG'}; ` +
        `the four conditions ${result.holds ? 'hold' : 'do not hold'}\n`,
    );
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    await stack.stop();
  }
}

class Devices {
  private readonly hosts: number;
  private hostIds: string[] = [];
  private readonly delaysMs: number[] = [];
  private writeErrors = 0;
  private aggregateErrors = 0;
  private isExact = true;
  /** Of reads: when, and how long, ms. */
  private readonly reads: { readonly atMs: number; readonly ms: number }[] = [];

  constructor(
    private readonly url: string,
    private readonly apiKey: string,
    private readonly options: Options,
  ) {
    this.hosts = Math.ceil(options.devices / DEVICES_OF_HOST);
  }

  async run(): Promise<Result> {
    this.hostIds = await mapLimited(Array.from({ length: this.hosts }), CLIENTS, (_, host) =>
      this.createHost(`host${host}`),
    );
    // The first sample of a device costs more: every one is known before the time counts.
    const firstMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
    await this.postSecond(firstMs - MINUTE_MS, () => true);
    await sleep(Math.max(0, firstMs - Date.now()));
    const { seconds } = this.options;
    const lastMs = firstMs + seconds * SECOND_MS;
    const jobsMs: number[] = [];
    const jobs: Promise<void>[] = [];
    const writing = this.write(firstMs, lastMs);
    for (let minuteMs = firstMs; minuteMs + MINUTE_MS <= lastMs; minuteMs += MINUTE_MS) {
      const dueMs = minuteMs + MINUTE_MS + SUM_AFTER_MS;
      if (dueMs >= lastMs) break;
      await sleep(Math.max(0, dueMs - Date.now()));
      // The next sum starts even if this one still runs.
      jobs.push(
        this.sum(minuteMs, minuteMs + MINUTE_MS, MINUTE_MS, (host, device) => ({
          least: this.expected(host, device, minuteMs, minuteMs + MINUTE_MS, false),
          most: this.expected(host, device, minuteMs, minuteMs + MINUTE_MS, true),
        })).then((ms) => {
          jobsMs.push(ms);
          process.stderr.write(
            `a minute of ${this.hosts * DEVICES_OF_HOST} devices was summed in ${Math.round(ms)} ms\n`,
          );
        }),
      );
    }
    await Promise.all([writing, ...jobs]);
    await this.sumAll(firstMs, lastMs);
    const fifth = (lastMs - firstMs) / 5;
    const median = (fromMs: number, toMs: number) =>
      quantile(
        this.reads.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).map(({ ms }) => ms),
        0.5,
      );
    const [beganMs, endedMs] = [firstMs + MINUTE_MS + SUM_AFTER_MS, lastMs];
    const drift = median(endedMs - fifth, endedMs) / median(beganMs, beganMs + fifth);
    const figures = {
      writeDelayP99Ms: Math.round(quantile(this.delaysMs, 0.99)),
      writeDelayMaxMs: Math.round(Math.max(...this.delaysMs)),
      writeErrors: this.writeErrors,
      aggregateP99Ms: Math.round(quantile(jobsMs, 0.99)),
      aggregateMaxMs: Math.round(Math.max(...jobsMs)),
      aggregateErrors: this.aggregateErrors,
    };
    return {
      devices: this.hosts * DEVICES_OF_HOST,
      seconds,
      window: this.options.window,
      ...figures,
      exact: this.isExact,
      drift,
      holds:
        figures.writeDelayMaxMs <= SECOND_MS &&
        figures.aggregateMaxMs <= MINUTE_MS &&
        figures.writeErrors === 0 &&
        figures.aggregateErrors === 0,
    };
  }

  /** Posts every second of `[fromMs, toMs)` when it comes, and late samples when they come. */
  private async write(fromMs: number, toMs: number): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    const begin = async (work: () => Promise<void>) => {
      while (inFlight.size >= CLIENTS) await Promise.race(inFlight);
      const running: Promise<void> = work().finally(() => inFlight.delete(running));
      inFlight.add(running);
    };
    const requests = Math.ceil(this.hosts / HOSTS_OF_REQUEST);
    for (let nowMs = fromMs; nowMs < toMs + LATE_MS; nowMs += SECOND_MS) {
      for (let request = 0; request < requests; request++) {
        const dueMs = nowMs + (request * SECOND_MS) / requests;
        await sleep(Math.max(0, dueMs - Date.now()));
        const lateMs = nowMs - LATE_MS;
        if (nowMs < toMs)
          await begin(() => {
            this.delaysMs.push(Math.max(0, Date.now() - dueMs));
            return this.post(
              this.bodyOf(nowMs, request, (host, device) => !this.isLate(host, device, nowMs)),
            );
          });
        if (lateMs >= fromMs)
          await begin(() =>
            this.post(this.bodyOf(lateMs, request, (host, device) => this.isLate(host, device, lateMs))),
          );
      }
    }
    await Promise.all(inFlight);
  }

  private async postSecond(atMs: number, has: (host: number, device: number) => boolean): Promise<void> {
    const requests = Array.from(
      { length: Math.ceil(this.hosts / HOSTS_OF_REQUEST) },
      (_, request) => request,
    );
    await mapLimited(requests, CLIENTS, (request) => this.post(this.bodyOf(atMs, request, has)));
  }

  /** Line protocol of one second of a request's hosts. */
  private bodyOf(atMs: number, request: number, has: (host: number, device: number) => boolean): string {
    const lines: string[] = [];
    const first = request * HOSTS_OF_REQUEST;
    for (let host = first; host < Math.min(this.hosts, first + HOSTS_OF_REQUEST); host++) {
      const fields: string[] = [];
      for (let device = 0; device < DEVICES_OF_HOST; device++)
        if (has(host, device))
          fields.push(`d${String(device).padStart(2, '0')}=${this.valueOf(host, device, atMs)}`);
      if (fields.length > 0)
        lines.push(`device,host=${this.hostIds[host]} ${fields.join(',')} ${atMs}000000`);
    }
    return lines.join('\n');
  }

  /** A whole number, so that sums are exact in whatever order. */
  private valueOf(host: number, device: number, atMs: number): number {
    return mix(host * DEVICES_OF_HOST + device, atMs / SECOND_MS) % 1000;
  }

  private isLate(host: number, device: number, atMs: number): boolean {
    return mix(atMs / SECOND_MS, host * DEVICES_OF_HOST + device) % 1000 < 10 * this.options.late;
  }

  /** The independent count of `[fromMs, toMs)`. */
  private expected(host: number, device: number, fromMs: number, toMs: number, withLate: boolean): number {
    let sum = 0;
    for (let atMs = fromMs; atMs < toMs; atMs += SECOND_MS)
      if (withLate || !this.isLate(host, device, atMs)) sum += this.valueOf(host, device, atMs);
    return sum;
  }

  /**
   * Sums one step of each device.
   *
   * @returns how long it took, ms
   */
  private async sum(
    fromMs: number,
    toMs: number,
    stepMs: number,
    boundsOf: (host: number, device: number) => { readonly least: number; readonly most: number },
  ): Promise<number> {
    const beganMs = performance.now();
    await mapLimited(Array.from({ length: this.hosts }), READERS, async (_, host) => {
      const readMs = performance.now();
      const sums = await this.sumsOf(host, fromMs, toMs, stepMs);
      this.reads.push({ atMs: Date.now(), ms: performance.now() - readMs });
      if (sums === undefined) return;
      for (let device = 0; device < DEVICES_OF_HOST; device++) {
        const { least, most } = boundsOf(host, device);
        const sum = sums.get(NAMES[device]!) ?? Number.NaN;
        if (sum >= least && sum <= most) continue;
        if (this.isExact)
          process.stderr.write(
            `${this.hostIds[host]} ${NAMES[device]} from ${new Date(fromMs).toISOString()}: ${sum} instead of ${least} to ${most}\n`,
          );
        this.isExact = false;
      }
    });
    return performance.now() - beganMs;
  }

  /** Sums every minute, hour and day of the run, once all of it is readable, and holds them against the count. */
  private async sumAll(fromMs: number, toMs: number): Promise<void> {
    // What was acknowledged is readable within a few seconds; records of a shard keep their order.
    await sleep(5 * SECOND_MS);
    for (const stepMs of STEPS_MS)
      for (let startMs = Math.floor(fromMs / stepMs) * stepMs; startMs < toMs; startMs += stepMs) {
        const [first, last] = [Math.max(startMs, fromMs - MINUTE_MS), Math.min(startMs + stepMs, toMs)];
        await this.sum(startMs, startMs + stepMs, stepMs, (host, device) => {
          // The first sample of all, a minute before the run, lies in the first hour and day too.
          const before = first < fromMs ? this.valueOf(host, device, fromMs - MINUTE_MS) : 0;
          const sum = before + this.expected(host, device, Math.max(first, fromMs), last, true);
          return { least: sum, most: sum };
        });
      }
  }

  /** @returns sums by name; undefined when the read failed */
  private async sumsOf(
    host: number,
    fromMs: number,
    toMs: number,
    stepMs: number,
  ): Promise<ReadonlyMap<string, number> | undefined> {
    const asked = `from=${fromMs / 1000}&to=${toMs / 1000 - 1}&step=${stepMs / 1000}&aggregate=sum`;
    const path = `/api/v1/hosts/${this.hostIds[host]}/metrics?${NAMES.map((name) => `name=${name}`).join('&')}&${asked}`;
    const response = await fetch(`${this.url}${path}`, { headers: { 'x-api-key': this.apiKey } });
    if (!response.ok) {
      if (this.aggregateErrors++ === 0)
        process.stderr.write(`a sum was answered ${response.status} ${await response.text()}\n`);
      return undefined;
    }
    const { series } = (await response.json()) as { series: { name: string; values: (number | null)[] }[] };
    return new Map(series.map(({ name, values }) => [name, values[0] ?? Number.NaN]));
  }

  private async createHost(name: string): Promise<string> {
    const response = await fetch(`${this.url}/api/v0/hosts`, {
      method: 'POST',
      headers: { 'x-api-key': this.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ name, meta: {} }),
    });
    if (!response.ok) throw new Error(`a host was answered ${response.status} ${await response.text()}`);
    return ((await response.json()) as { id: string }).id;
  }

  private async post(body: string): Promise<void> {
    if (body === '') return;
    const headers = { 'x-api-key': this.apiKey, 'content-type': 'text/plain' };
    const response = await fetch(`${this.url}/write`, { method: 'POST', headers, body });
    if (!response.ok && this.writeErrors++ === 0)
      process.stderr.write(`a write was answered ${response.status} ${await response.text()}\n`);
    else await response.arrayBuffer();
  }
}

/** A hash of two whole numbers, 32 bits. */
function mix(a: number, b: number): number {
  let hash = (Math.imul(a | 0, 0x9e3779b1) ^ Math.imul(b | 0, 0x85ebca6b)) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 13), 0x297a2d39) >>> 0;
  return (hash ^ (hash >>> 16)) >>> 0;
}
