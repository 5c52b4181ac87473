import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { IDLE_FUNCTIONS, type MeasuredUnits, type Units } from '../../shared/cost/measured-units';
import { DAY_MS } from '../../shared/model/duration';
import { UNITS } from '../../shared/platform/names';
import { withSettings } from '../local/template';
import { archive } from '../ops/archive';
import { drain } from '../ops/drain';
import { tierBytes } from '../ops/usage';
import { makeAgentData } from './data/agent-data';
import { bench } from './harness/bench';
import type { Harness } from './harness/harness';
import { MeterLog } from './harness/meter-log';
import { choice, count, texts } from './harness/options';
import { usedMemory } from './harness/redis-info';
import { type BenchStack, startBenchStack } from './harness/stack';

/** How a host posts its metrics. */
const SHAPES = {
  dense: 'Mackerel, 100 metrics of a host at once',
  telegraf: 'line protocol, 12 measurements of 8 fields a host, as Telegraf posts them',
} as const;
type Shape = keyof typeof SHAPES;
const SHAPE_NAMES = Object.keys(SHAPES) as Shape[];
/** Number of fields of a measurement, and of metrics of a host, in the shape `telegraf`. */
const FIELDS = 8;
const TELEGRAF_METRICS = 96;

interface Options {
  readonly hosts: number;
  readonly shape: Shape;
  readonly minutes: number;
  readonly batch: number;
}

const MINUTES_OF_DAY = 1440;
/** Number of minutes in which each host posts separately. Other minutes are posted in batches. */
const MINUTES_BY_HOST = 30;
const PARTITIONS = 8;
const IDLE_INVOCATIONS = 5;
const READS = 30;
const WAIT_MS = 10 * 60_000;

export const units = bench({
  name: 'units',
  summary: 'everything that AWS bills for a day of samples',
  description:
    'Counts requests, put units, function time, DynamoDB units, S3 requests and bytes of each tier for a UTC day of samples like ' +
    "an agent's. The samples pass through the local stack: the real handlers over HTTP, a real Valkey, and ministack in place of " +
    'Kinesis, DynamoDB and S3. `ops cost` scales the counts to a load.',
  notes: 'Write the JSON to scripts/ops/measured-units.json, or to measured-units-telegraf.json.',
  options: {
    hosts: count('hosts, with about 100 metrics each', 20),
    shape: choice(SHAPE_NAMES.map((name) => `${name}: ${SHAPES[name]}`).join('; '), SHAPE_NAMES, 'dense'),
    windows: texts('<durations>', 'lengths of windows, a run each (default: 1h,4h)'),
    minutes: count('minutes of the day to post', 1440),
    batch: count('samples per request', 500),
  },
  run: async ({ windows: lengths = ['1h', '4h'], ...options }, harness): Promise<MeasuredUnits> => {
    let measured: Omit<MeasuredUnits, 'windows'> | undefined;
    const windows: MeasuredUnits['windows'] = {};
    for (const window of lengths)
      await harness.part(async (part) => {
        const run = await Run.start(part, options, window);
        const idle = await run.idle();
        const posts = await run.post();
        const { reads, ...tiers } = await run.throughTiers();
        windows[window] = tiers;
        harness.log(`window ${window}: ${JSON.stringify(tiers)}`);
        measured ??= { load: run.load, posts, idle, reads };
      });
    return { ...measured!, windows };
  },
  show: (result) => JSON.stringify(result, null, 2),
});

/** Takes one day of samples through its own stack. */
class Run {
  private readonly log: MeterLog;
  private readonly redis: Redis;
  private readonly data: ReturnType<typeof makeAgentData>;
  private hostIds: string[] = [];
  private emptyBytes = 0;
  private posted = 0;
  private readonly startMs = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS;

  static async start(harness: Harness, options: Options, window: string): Promise<Run> {
    // Use the settings of a deployed stage where the local stage differs, without limits on the age and number of
    // samples.
    const settings = {
      window,
      partitions: String(PARTITIONS),
      batchWindow: '1s',
      resolution: '60s',
      maxSampleAge: '97h',
      maxSamplesPerMinute: '1000000000',
    };
    const run = new Run(harness, options, await startBenchStack(harness, settings, harness.log));
    harness.log(`window ${window}: the stack runs`);
    return run;
  }

  private constructor(
    private readonly harness: Harness,
    private readonly options: Options,
    private readonly bench: BenchStack,
  ) {
    const { stack } = bench;
    this.data = makeAgentData().slice(0, options.shape === 'telegraf' ? TELEGRAF_METRICS : undefined);
    this.log = new MeterLog(join(stack.dataDir, 'functions.log'));
    this.redis = new Redis(stack.addresses.redisUrl);
    harness.atEnd(() => {
      this.redis.disconnect();
      this.log.close();
    });
  }

  get load(): MeasuredUnits['load'] {
    const { hosts, shape } = this.options;
    return {
      hosts,
      metrics: this.data.length,
      partitions: PARTITIONS,
      looksUpHosts: shape === 'dense',
    };
  }

  /** Measures each scheduled function when it finds nothing to do. */
  async idle(): Promise<MeasuredUnits['idle']> {
    const events: Record<(typeof IDLE_FUNCTIONS)[number], unknown> = {
      // A heartbeat is a batch without samples.
      ingester: { Records: [] },
      flusher: { lane: 0, lanes: 2 },
      archiver: {},
      recovery: {},
      operator: { command: 'sweep' },
      evaluator: {},
      canary: {},
    };
    const idle = {} as Record<(typeof IDLE_FUNCTIONS)[number], { ms: number; units: Units }>;
    for (const name of IDLE_FUNCTIONS) {
      // Invoke the function once before the measurement, because instances that run every minute are warm.
      await this.bench.functions.invoke(name, events[name]);
      this.log.take(name);
      const startedMs = performance.now();
      for (let i = 0; i < IDLE_INVOCATIONS; i++) await this.bench.functions.invoke(name, events[name]);
      const ms = (performance.now() - startedMs) / IDLE_INVOCATIONS;
      const { units, invocations } = this.log.take(name);
      idle[name] = { ms: Math.ceil(ms), units: scaled(units, 1 / Math.max(1, invocations)) };
    }
    return idle;
  }

  async post(): Promise<MeasuredUnits['posts']> {
    const { hosts, minutes, batch } = this.options;
    this.hostIds = await Promise.all(
      Array.from({ length: hosts }, (_, i) => this.bench.api.createHost(`host${i}`)),
    );
    // Post once before the measurement, so that instances and caches are warm.
    await this.postMinutes(0, 1, this.data.length);
    this.emptyBytes = await usedMemory(this.redis);
    const posts: MeasuredUnits['posts'] = [];
    for (const [samplesPerRequest, from, to] of [
      [this.data.length, 1, MINUTES_BY_HOST],
      [batch, MINUTES_BY_HOST, minutes],
    ] as const) {
      this.log.take('post');
      const { streamBytes } = this.bench.stack.host.progress;
      const requests = await this.postMinutes(from, to, samplesPerRequest);
      posts.push({
        // Report the average, because the last request of a minute may be smaller.
        samplesPerRequest: Math.round(((to - from) * this.hostIds.length * this.data.length) / requests),
        requests,
        streamBytes: this.bench.stack.host.progress.streamBytes - streamBytes,
        units: this.log.peek('post').units,
      });
      this.harness.log(`${this.posted} samples posted`);
    }
    return posts;
  }

  /**
   * Posts one sample of each series for every minute of a range.
   *
   * @returns the number of requests, once all samples are readable and metered
   */
  private postMinutes(from: number, to: number, samplesPerRequest: number): Promise<number> {
    return this.postTimes(
      Array.from({ length: to - from }, (_, i) => from + i),
      samplesPerRequest,
    );
  }

  /**
   * Posts a sample of each series for each given minute.
   *
   * @param minutes minutes of the day; negative ones belong to earlier days
   */
  private async postTimes(minutes: readonly number[], samplesPerRequest: number): Promise<number> {
    const before = this.log.peek('post').invocations;
    const hostsPerRequest = Math.max(1, Math.round(samplesPerRequest / this.data.length));
    let requests = 0;
    for (const minute of minutes) {
      const bodies: string[] = [];
      for (let at = 0; at < this.hostIds.length; at += hostsPerRequest)
        bodies.push(this.bodyOf(this.hostIds.slice(at, at + hostsPerRequest), at, minute));
      // Post one body at a time, so that no request waits for another.
      for (const body of bodies) await this.bench.api.text('POST', this.path, body, this.type);
      requests += bodies.length;
    }
    this.posted += minutes.length * this.hostIds.length * this.data.length;
    await this.until('all is in memory', () => this.bench.stack.host.progress.samples >= this.posted);
    await this.until(
      'post has told its metrics',
      () => this.log.peek('post').invocations >= before + requests,
    );
    return requests;
  }

  private get path(): string {
    return this.options.shape === 'telegraf' ? '/api/v2/write?precision=s' : '/api/v0/tsdb';
  }

  private get type(): string {
    return this.options.shape === 'telegraf' ? 'text/plain' : 'application/json';
  }

  private bodyOf(hostIds: readonly string[], firstHost: number, minute: number): string {
    const time = this.startMs / 1000 + minute * 60;
    const samples = hostIds.map((hostId, h) => ({
      hostId,
      metrics: this.data.map(({ labels, values }) => ({
        name: labels.__name__!,
        // Shift values, so that hosts differ.
        value: values[(minute + 3 * MINUTES_OF_DAY + (firstHost + h) * 97) % values.length],
      })),
    }));
    if (this.options.shape === 'dense')
      return JSON.stringify(
        samples.flatMap(({ hostId, metrics }) => metrics.map((metric) => ({ hostId, time, ...metric }))),
      );
    return samples
      .flatMap(({ hostId, metrics }) =>
        Array.from({ length: metrics.length / FIELDS }, (_, measurement) => {
          const own = metrics.slice(measurement * FIELDS, (measurement + 1) * FIELDS);
          const fields = own.map(({ value }, field) => `f${field}=${value}`).join(',');
          return `m${measurement},host=${hostId} ${fields} ${time}`;
        }),
      )
      .join('\n');
  }

  /** Moves all samples through the tiers, and reads graphs from each tier. */
  async throughTiers(): Promise<
    MeasuredUnits['windows'][string] & { readonly reads: MeasuredUnits['reads'] }
  > {
    const before = this.startMs + 2 * DAY_MS;
    const samples = this.posted;
    const ingester = this.log.take('ingester');
    this.log.take('flusher');
    const hotBytes = (await usedMemory(this.redis)) - this.emptyBytes;
    const drained = { samples: 0, windows: 0 };
    // The last samples may not have arrived yet, and the canary has posted a few.
    while (drained.samples < samples) {
      const slice = await drain(this.bench.functions, this.harness.log);
      drained.samples += slice.samples;
      drained.windows += slice.windows;
    }
    const flusher = this.log.take('flusher');
    const warm = await this.readGraphs();
    this.rollUp('off');
    this.log.take('archiver');
    await archive(this.bench.functions, { before, purge: false }, this.harness.log);
    const archiver = this.log.take('archiver');
    this.log.take('operator');
    await this.bench.functions.invoke('operator', { command: 'sweep' });
    const sweep = this.log.take('operator');
    const bytes = await tierBytes(this.bench.functions, 'default');
    await archive(this.bench.functions, { before, purge: true }, this.harness.log);
    const cold = await this.readGraphs();
    const rollups = await this.rollUpDays(before);
    return {
      samples,
      hotBytes,
      ingester,
      flusher: { windows: drained.windows, units: flusher.units },
      warmBytes: bytes.warm,
      archiver: { objects: archiver.units.ObjectPuts ?? 1, units: archiver.units },
      coldBytes: bytes.cold,
      rollups,
      sweep: { layouts: this.hostIds.length, units: sweep.units },
      reads: { requests: READS, warm, cold },
    };
  }

  /** Deploys the archiver with rollups on or off. */
  private rollUp(rollups: 'on' | 'off'): void {
    this.bench.stack.host.deploy(withSettings(this.bench.stack.functions, { rollups }), ['archiver']);
  }

  /**
   * Rolls up the archived day. Then rolls up two earlier days with one sample an hour, to measure what it costs to add
   * days to existing rollups.
   */
  private async rollUpDays(before: number): Promise<MeasuredUnits['windows'][string]['rollups']> {
    const passes: Units[] = [];
    for (let day = 0; day < 3; day++) {
      if (day > 0) {
        const hours = Array.from({ length: 24 }, (_, hour) => hour * 60 - day * MINUTES_OF_DAY);
        await this.postTimes(hours, this.options.batch);
        await drain(this.bench.functions, this.harness.log);
        await archive(this.bench.functions, { before, purge: false }, this.harness.log);
      }
      this.rollUp('on');
      this.log.take('archiver');
      await archive(this.bench.functions, { before, purge: false }, this.harness.log);
      passes.push(this.log.take('archiver').units);
      this.rollUp('off');
    }
    const [first, , third] = passes as [Units, Units, Units];
    const perDay = Object.fromEntries(
      UNITS.map((unit) => [unit, Math.max(0, ((third[unit] ?? 0) - (first[unit] ?? 0)) / 2)] as const),
    );
    return { first, perDay };
  }

  /** Reads a day of one series, repeatedly. */
  private async readGraphs(): Promise<Units> {
    const read = async (i: number) => {
      const host = this.hostIds[i % this.hostIds.length]!;
      const metric = (i * 7) % this.data.length;
      const name =
        this.options.shape === 'telegraf'
          ? `m${Math.floor(metric / FIELDS)}_f${metric % FIELDS}`
          : this.data[metric]!.labels.__name__!;
      const fromS = this.startMs / 1000;
      const query = `name=${name}&from=${fromS}&to=${fromS + DAY_MS / 1000 - 1}`;
      await this.bench.api.text('GET', `/api/v0/hosts/${host}/metrics?${query}`);
    };
    // Warm up instances and connections.
    for (let i = 0; i < 4; i++) await read(i);
    this.log.take('query');
    for (let i = 0; i < READS; i++) await read(i);
    return this.log.take('query').units;
  }

  private async until(what: string, isSo: () => boolean): Promise<void> {
    for (const deadline = Date.now() + WAIT_MS; !isSo(); await sleep(200))
      if (Date.now() > deadline)
        throw new Error(
          `${what}: not within ${WAIT_MS / 1000} s; ${this.bench.stack.host.progress.samples} of ${this.posted} samples are`,
        );
  }
}

function scaled(units: Units, factor: number): Units {
  return Object.fromEntries(Object.entries(units).map(([unit, amount]) => [unit, amount * factor]));
}
