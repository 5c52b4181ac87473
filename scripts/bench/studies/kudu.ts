import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../shared/model/duration';
import { mapLimited } from '../../../shared/platform/concurrency';
import { bench } from '../harness/bench';
import { cpuByKind } from '../harness/cpu';
import type { Harness } from '../harness/harness';
import { count, number, text } from '../harness/options';
import { quantile } from '../harness/quantile';
import { type BenchStack, startBenchStack, UNLIMITED } from '../harness/stack';
import { DEVICES_OF_HOST, Devices, SECOND_MS } from './kudu-devices';

/** Number of clients in the study. Each posts its share of the devices once a second. */
const CLIENTS = 20;
const READERS = 4;
/** Delay of late samples, in ms. Some of them arrive after their minute was summed, some just before. */
const LATE_MS = 90_000;
/** Time from the end of a minute until it is summed, in ms. */
const SUM_AFTER_MS = 60_000;
/** The stream counts as fully read if its lag is at most this, in ms. */
const READ_UP_MS = 1_500;
const NAMES = Array.from(
  { length: DEVICES_OF_HOST },
  (_, device) => `device_d${String(device).padStart(2, '0')}`,
);

export const kudu = bench({
  name: 'kudu',
  summary: 'one sample per device and second, with sums by minute, hour and day',
  description:
    'Posts a sample of each device every second, some of them late, and sums each minute of each device a minute after its end, as ' +
    'in the study on Apache Kudu. Afterwards sums every minute, hour and day again, and compares the sums with an independent ' +
    "count. The study's conditions: no write starts more than 1 s late, no write fails, a sum of all devices takes at most a " +
    'minute, and no sum fails.',
  notes:
    'The local stack is `npm start`: the functions as they are deployed, Valkey, and stand-ins for API Gateway, Kinesis, DynamoDB\n' +
    'and S3; clients and all of these share this machine. Each of 20 clients posts its share of the devices once a second, together\n' +
    'with their late samples. Four readers read the sums, one host of 100 devices per request.',
  options: {
    devices: count('devices, 100 a host', 10_000),
    seconds: count('duration in s; 180 s include the sums of one minute during writes, 600 s of eight', 180),
    late: number(`percent of the samples, which are posted ${LATE_MS / 1000} s late`, 5),
    window: text('<duration>', "length of a window, the study's range partition", '1h'),
    flushDelay: text('<duration>', 'time that a window stays in memory after its end', '10m'),
  },
  run: async (options, harness) => {
    // Use the batch window of a deployed stage; the local stack's default is 0s.
    const settings = {
      ...UNLIMITED,
      window: options.window,
      flushDelay: options.flushDelay,
      batchWindow: '1s',
    };
    return new KuduRun(harness, await startBenchStack(harness, settings), options).run();
  },
});

interface Options {
  readonly devices: number;
  readonly seconds: number;
  /** Share of late samples, in percent. */
  readonly late: number;
  readonly window: string;
}

class KuduRun {
  private readonly hosts: number;
  private hostIds: string[] = [];
  private devices = new Devices([], 0);
  private readonly delaysMs: number[] = [];
  private writeErrors = 0;
  private aggregateErrors = 0;
  private isExact = true;
  /** Duration of each read of a minute's sums in ms, in order. */
  private readonly readsMs: number[] = [];

  constructor(
    private readonly harness: Harness,
    private readonly bench: BenchStack,
    private readonly options: Options,
  ) {
    this.hosts = Math.ceil(options.devices / DEVICES_OF_HOST);
  }

  async run() {
    const { api, stack } = this.bench;
    this.hostIds = await mapLimited(Array.from({ length: this.hosts }), CLIENTS, (_, host) =>
      api.createHost(`host${host}`),
    );
    this.devices = new Devices(this.hostIds, this.options.late / 100);
    await this.postFirst();
    const firstMs = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
    await sleep(firstMs - Date.now());
    const { seconds } = this.options;
    const lastMs = firstMs + seconds * SECOND_MS;
    const cpuSoFar = cpuByKind(() => stack.processes());
    const writing = this.write(firstMs, lastMs).then(cpuSoFar);
    const jobsMs: number[] = [];
    const jobs: Promise<void>[] = [];
    for (let minuteMs = firstMs; minuteMs + MINUTE_MS + SUM_AFTER_MS < lastMs; minuteMs += MINUTE_MS) {
      await sleep(Math.max(0, minuteMs + MINUTE_MS + SUM_AFTER_MS - Date.now()));
      // Start the next sum even if the current one is still running.
      jobs.push(
        this.sum(minuteMs, minuteMs + MINUTE_MS, MINUTE_MS).then((ms) => {
          jobsMs.push(ms);
          this.harness.log(
            `a minute of ${this.devices.count} devices was summed in ${Math.round(ms)} ms; writes so far late by at most ` +
              `${Math.round(this.latestMs)} ms, the stream is read up to ${Math.round(stack.host.progress.lagMs)} ms ago`,
          );
        }),
      );
    }
    const [cpu] = await Promise.all([writing, ...jobs]);
    const drift = this.drift();
    await this.sumAll(firstMs, lastMs);
    const figures = {
      /** Delay from when a write is due to its start, in ms. The study allows 1 s. */
      writeDelayP99Ms: Math.round(quantile(this.delaysMs, 0.99)),
      writeDelayMaxMs: Math.round(this.latestMs),
      writeErrors: this.writeErrors,
      /** Time to sum a minute of all devices, in ms. The study allows a minute. */
      aggregateP99Ms: Math.round(quantile(jobsMs, 0.99)),
      aggregateMaxMs: Math.round(Math.max(...jobsMs)),
      aggregateErrors: this.aggregateErrors,
    };
    const samples = seconds * this.devices.count;
    return {
      devices: this.devices.count,
      seconds,
      window: this.options.window,
      ...figures,
      /** Whether all sums of minutes, hours and days equal the independent count. */
      exact: this.isExact,
      /** Median duration of the last fifth of the minute reads, divided by that of the first fifth. */
      drift,
      /** Whether the study's four conditions are met. */
      holds:
        figures.writeDelayMaxMs <= SECOND_MS &&
        figures.aggregateMaxMs <= MINUTE_MS &&
        figures.writeErrors === 0 &&
        figures.aggregateErrors === 0,
      /** CPU that each kind of process used during the run, in seconds per million samples. */
      cpuSecondsAMillion: Object.fromEntries(
        Object.entries(cpu).map(([kind, spent]) => [kind, Number(((spent / samples) * 1e6).toFixed(3))]),
      ),
    };
  }

  /** Returns the median duration of the last fifth of the reads, divided by that of the first fifth. */
  private drift(): number {
    const fifth = Math.ceil(this.readsMs.length / 5);
    return quantile(this.readsMs.slice(-fifth), 0.5) / quantile(this.readsMs.slice(0, fifth), 0.5);
  }

  private get latestMs(): number {
    return this.delaysMs.reduce((a, b) => Math.max(a, b), 0);
  }

  /**
   * Posts one sample of each device before the measurement, because a device's first sample costs more, and waits until
   * all of them are readable.
   */
  private async postFirst(): Promise<void> {
    const atMs = Math.floor(Date.now() / SECOND_MS) * SECOND_MS;
    this.devices.add(atMs);
    await mapLimited(this.shares(), CLIENTS, ([from, to]) =>
      this.post([false, true].flatMap((areLate) => [...this.devices.lines(from, to, atMs, areLate)])),
    );
    await this.untilReadUp();
  }

  /** Waits until everything acknowledged is readable. This works because the records of a shard keep their order. */
  private async untilReadUp(): Promise<void> {
    do await sleep(SECOND_MS);
    while (this.bench.stack.host.progress.lagMs > READ_UP_MS);
  }

  /** Returns each client's range of hosts. */
  private shares(): (readonly [from: number, to: number])[] {
    const clients = Math.min(CLIENTS, this.hosts);
    const at = (client: number) => Math.floor((client * this.hosts) / clients);
    return Array.from({ length: clients }, (_, client) => [at(client), at(client + 1)] as const);
  }

  /** Posts every second of `[fromMs, toMs)` when it is due, and late samples when they are due. */
  private async write(fromMs: number, toMs: number): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    const shares = this.shares();
    for (let nowMs = fromMs; nowMs < toMs + LATE_MS; nowMs += SECOND_MS) {
      if (nowMs < toMs) this.devices.add(nowMs);
      const lateMs = nowMs - LATE_MS;
      for (const [client, [from, to]] of shares.entries()) {
        const dueMs = nowMs + (client * SECOND_MS) / shares.length;
        await sleep(Math.max(0, dueMs - Date.now()));
        const lines = [
          ...(nowMs < toMs ? this.devices.lines(from, to, nowMs, false) : []),
          ...(lateMs >= fromMs ? this.devices.lines(from, to, lateMs, true) : []),
        ];
        if (lines.length === 0) continue;
        while (inFlight.size >= CLIENTS) await Promise.race(inFlight);
        this.delaysMs.push(Math.max(0, Date.now() - dueMs));
        const running: Promise<void> = this.post(lines).finally(() => inFlight.delete(running));
        inFlight.add(running);
      }
    }
    await Promise.all(inFlight);
  }

  /**
   * Sums one step of each device and compares the sums with the independent count. Late samples may be missing.
   *
   * @returns duration in ms
   */
  private async sum(fromMs: number, toMs: number, stepMs: number): Promise<number> {
    const beganMs = performance.now();
    await this.readSums(fromMs, toMs, stepMs, true, (readMs) => this.readsMs.push(readMs));
    return performance.now() - beganMs;
  }

  /**
   * Sums every minute, hour and day of the run after everything is readable, and compares the sums with the
   * count.
   */
  private async sumAll(fromMs: number, toMs: number): Promise<void> {
    await sleep(5 * SECOND_MS);
    await this.untilReadUp();
    for (const stepMs of [MINUTE_MS, HOUR_MS, DAY_MS]) {
      const endMs = Math.ceil(toMs / stepMs) * stepMs;
      await this.readSums(Math.floor(fromMs / stepMs) * stepMs, endMs, stepMs, false, () => {});
    }
  }

  /** Reads and compares the sums of the steps in `[fromMs, toMs)` of every device. */
  private async readSums(
    fromMs: number,
    toMs: number,
    stepMs: number,
    mayLack: boolean,
    onRead: (ms: number) => void,
  ): Promise<void> {
    await mapLimited(Array.from({ length: this.hosts }), READERS, async (_, host) => {
      const readMs = performance.now();
      const read = await this.sumsOf(host, fromMs, toMs, stepMs);
      onRead(performance.now() - readMs);
      if (read === undefined) return;
      for (let atMs = fromMs; atMs < toMs; atMs += stepMs) {
        const { least, most } = this.devices.sumsOf(atMs, stepMs);
        const step = read.times.indexOf(atMs);
        for (let i = 0; i < DEVICES_OF_HOST; i++) {
          const device = host * DEVICES_OF_HOST + i;
          const sum = read.sums.get(NAMES[i]!)?.[step] ?? 0;
          if (sum <= most[device]! && sum >= (mayLack ? least : most)[device]!) continue;
          if (this.isExact)
            this.harness.log(
              `${this.hostIds[host]} ${NAMES[i]} from ${new Date(atMs).toISOString()}: ${sum} instead of ${least[device]} to ${most[device]}`,
            );
          this.isExact = false;
        }
      }
    });
  }

  /**
   * Reads the sums of a host's metrics in each step.
   *
   * @returns the starts of steps in ms, and sums by name; undefined when the read failed
   */
  private async sumsOf(host: number, fromMs: number, toMs: number, stepMs: number) {
    const parameters = `from=${fromMs / 1000}&to=${toMs / 1000 - 1}&step=${stepMs / 1000}&aggregate=sum`;
    const path = `/api/v1/hosts/${this.hostIds[host]}/metrics?${NAMES.map((name) => `name=${name}`).join('&')}&${parameters}`;
    type Sums = { times: number[]; series: { name: string; values: (number | null)[] }[] };
    const read = await this.bench.api.json<Sums>('GET', path).catch((error: Error) => {
      if (this.aggregateErrors++ === 0) this.harness.log(`a sum failed: ${error.message}`);
    });
    return read && { ...read, sums: new Map(read.series.map(({ name, values }) => [name, values])) };
  }

  private async post(lines: readonly string[]): Promise<void> {
    await this.bench.api.text('POST', '/write', lines.join('\n'), 'text/plain').catch((error: Error) => {
      if (this.writeErrors++ === 0) this.harness.log(`a write failed: ${error.message}`);
    });
  }
}
