/** `npm run bench -- http`: samples a second over real HTTP to the local stack, until they can be read. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { startStack } from '../local/stack';
import { AgentBodies, type Protocol, SHAPES, type Shape } from './agent-bodies';
import { quantile } from './quantile';

interface Options {
  readonly hosts: string;
  readonly metrics: string;
  readonly protocol: Protocol;
  readonly shape: Shape;
  readonly clients: string;
  readonly seconds: string;
  readonly batchWindow: string;
  readonly json?: boolean;
}

interface Result {
  readonly shape: Shape;
  /** Samples a second of the dense shape in the same run, 0 when that is the shape, and what the shape's are of them. */
  readonly densePointsPerSecond: number;
  readonly ratioToDense: number;
  /** Most samples a second that are acknowledged and can be read. */
  readonly pointsPerSecond: number;
  readonly ackP50Ms: number;
  readonly ackP99Ms: number;
  readonly freshP50Ms: number;
  readonly freshP99Ms: number;
}

const MINUTE_MS = 60_000;
const POLL_MS = 10;
const MARKERS_A_SECOND = 5;
const WARM_UP_MINUTES = 5;
/** A marker that takes longer counts as lost. */
const PATIENCE_MS = 120_000;
const MARKER = 'benchmarker';

/** @param args what follows `http` on the command line */
export async function benchHttp(args: string[]): Promise<void> {
  const command = new Command('bench http')
    .description(
      'Finds the most samples a second that the local stack takes as line protocol over HTTP (20 hosts a request) until they ' +
        'can be read; then, at half of that, the time to an acknowledgement and the time until a sample can be read.',
    )
    .option('--hosts <n>', 'hosts', '1000')
    .option('--metrics <n>', 'metrics of each', '100')
    .option('--protocol <name>', 'influx, the only one', 'influx')
    .option(
      '--shape <name>',
      `${Object.entries(SHAPES)
        .map(([name, what]) => `${name}: ${what}`)
        .join('; ')}; any but dense is compared with dense in the same run`,
      'dense',
    )
    .option('--clients <n>', 'clients that post at once while the maximum is sought', '8')
    .option('--seconds <n>', 'how long each of the two parts is', '20')
    .option(
      '--batch-window <duration>',
      'time for which the mapping gathers a batch, as deployed; `npm start` has 0s',
      '1s',
    )
    .option('--json', 'one object on stdout, as the last line')
    .addHelpText(
      'after',
      '\nThe local stack is `npm start`: the functions as they are deployed, each in processes of its own, Valkey, and stand-ins for\n' +
        'API Gateway, Kinesis, its event source mapping, DynamoDB and S3; client and all of these share this machine.\n' +
        `Freshness: ${MARKERS_A_SECOND} times a second a sample of one more series is posted, and read by the query API every ${POLL_MS} ms\n` +
        'until the answer has it; from before the post until that answer.',
    );
  command.parse(args, { from: 'user' });
  const options = command.opts<Options>();
  const { shape } = options;
  if (!(shape in SHAPES)) throw new Error(`--shape is ${Object.keys(SHAPES).join(', ')}, not ${shape}`);
  if (options.protocol !== 'influx') throw new Error(`--protocol is influx, not ${options.protocol}`);
  const settings = {
    maxSamplesPerMinute: '1000000000',
    maxSeries: '100000000',
    batchWindow: options.batchWindow,
  };
  const stack = await startStack({ port: 0, dataDir: undefined, settings, report: () => {} });
  try {
    const bench = new HttpBench(stack.addresses.url, stack.addresses.apiKey, options);
    await bench.warmUp();
    const dense =
      shape === 'dense'
        ? undefined
        : new HttpBench(stack.addresses.url, stack.addresses.apiKey, {
            ...options,
            shape: 'dense',
          });
    await dense?.warmUp();
    // In turns, and the better of two each: the machine is not the same from one minute to the next.
    const rates: number[] = [];
    const denseRates: number[] = [];
    for (let turn = 0; turn < (dense === undefined ? 1 : 2); turn++) {
      if (dense !== undefined) denseRates.push(await dense.maximum());
      rates.push(await bench.maximum());
    }
    const pointsPerSecond = Math.max(...rates);
    const densePointsPerSecond = Math.max(0, ...denseRates);
    const { acks, fresh, offered } = await bench.atRate(pointsPerSecond / 2);
    const result: Result = {
      shape,
      densePointsPerSecond: Math.round(densePointsPerSecond),
      ratioToDense: dense === undefined ? 1 : pointsPerSecond / densePointsPerSecond,
      pointsPerSecond: Math.round(pointsPerSecond),
      ackP50Ms: Math.round(quantile(acks, 0.5)),
      ackP99Ms: Math.round(quantile(acks, 0.99)),
      freshP50Ms: Math.round(quantile(fresh, 0.5)),
      freshP99Ms: Math.round(quantile(fresh, 0.99)),
    };
    process.stderr.write(
      `${shape}: at most ${result.pointsPerSecond} samples/s until readable` +
        `${dense === undefined ? '' : `, ${result.ratioToDense.toFixed(2)} of dense (${result.densePointsPerSecond})`}; at ${Math.round(offered)} samples/s ` +
        `acknowledged after p50 ${result.ackP50Ms} ms, p99 ${result.ackP99Ms} ms (${acks.length} posts), ` +
        `readable after p50 ${result.freshP50Ms} ms, p99 ${result.freshP99Ms} ms (${fresh.length} markers)\n`,
    );
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    await stack.stop();
  }
}

class HttpBench {
  private readonly bodies: Generator<Body>;
  private readonly hosts: number;
  private readonly clients: number;
  private readonly durationMs: number;
  private lastMarkerMs = 0;
  /** Minutes that were posted of every host. */
  private minutes = 0;

  constructor(
    private readonly url: string,
    private readonly apiKey: string,
    { hosts, metrics, shape, clients, seconds }: Options,
  ) {
    this.hosts = Number(hosts);
    this.clients = Number(clients);
    this.durationMs = Number(seconds) * 1000;
    const ids = Array.from({ length: this.hosts }, (_, i) => `${shape}${i}`);
    this.bodies = endless(new AgentBodies(Number(metrics), shape), ids);
  }

  /** Posts some minutes of every host, so that series are known and code is compiled. */
  async warmUp(): Promise<void> {
    await this.flood(() => this.minutes < WARM_UP_MINUTES);
    await this.untilRead();
  }

  /** Samples a second, acknowledged in a time, until all of them can be read. */
  async maximum(): Promise<number> {
    const beganMs = performance.now();
    const points = await this.flood(() => performance.now() - beganMs < this.durationMs);
    const acknowledgedMs = performance.now() - beganMs;
    await this.untilRead();
    process.stderr.write(
      `${points} samples acknowledged in ${Math.round(acknowledgedMs)} ms, readable after ${Math.round(performance.now() - beganMs)} ms\n`,
    );
    return points / ((performance.now() - beganMs) / 1000);
  }

  /**
   * Posts with several clients, each the next body as soon as its last is acknowledged.
   *
   * @returns samples acknowledged
   */
  private async flood(goesOn: () => boolean): Promise<number> {
    let points = 0;
    await Promise.all(
      Array.from({ length: this.clients }, async () => {
        while (goesOn()) {
          const { text, samples } = this.next();
          await this.post(text);
          points += samples;
        }
      }),
    );
    return points;
  }

  /** Waits until everything posted before can be read: the stream keeps its order. */
  private async untilRead(): Promise<void> {
    const timeMs = await this.mark();
    await this.untilReadable([{ timeMs, sentMs: performance.now() }], () => false);
  }

  /** Posts at a rate, without waiting for acknowledgements. */
  async atRate(pointsPerSecond: number): Promise<{ acks: number[]; fresh: number[]; offered: number }> {
    const acks: number[] = [];
    const sent: Promise<void>[] = [];
    const markers: Marker[] = [];
    const beganMs = performance.now();
    let isOver = false;
    const fresh = this.untilReadable(markers, () => !isOver);
    let points = 0;
    while (performance.now() - beganMs < this.durationMs) {
      const { text, samples } = this.next();
      await sleep(Math.max(0, beganMs + (points / pointsPerSecond) * 1000 - performance.now()));
      points += samples;
      const sentMs = performance.now();
      sent.push(
        this.post(text).then(() => {
          acks.push(performance.now() - sentMs);
        }),
      );
      if (markers.length < ((sentMs - beganMs) / 1000) * MARKERS_A_SECOND) {
        const timeMs = this.nextMarkerMs();
        markers.push({ timeMs, sentMs: performance.now() });
        sent.push(this.mark(timeMs).then(() => {}));
      }
    }
    const elapsedMs = performance.now() - beganMs;
    await Promise.all(sent);
    isOver = true;
    return { acks, fresh: await fresh, offered: points / (elapsedMs / 1000) };
  }

  /** Every marker has a time of its own, by which it is found. */
  private nextMarkerMs(): number {
    this.lastMarkerMs = Math.max(this.lastMarkerMs + 1, Date.now());
    return this.lastMarkerMs;
  }

  private async mark(timeMs = this.nextMarkerMs()): Promise<number> {
    await this.post(`${MARKER},host=marker value=1 ${timeMs}000000`);
    return timeMs;
  }

  /**
   * Reads the marker series until it has every marker.
   *
   * @param mayGrow more markers may come
   * @returns each marker's time until it was read, ms
   */
  private async untilReadable(markers: readonly Marker[], mayGrow: () => boolean): Promise<number[]> {
    const took: number[] = [];
    const found = new Set<number>();
    const fromMs = Date.now() - MINUTE_MS;
    while (mayGrow() || found.size < markers.length) {
      const times = await this.readMarkers(fromMs);
      const nowMs = performance.now();
      for (const { timeMs, sentMs } of markers) {
        if (!found.has(timeMs) && times.has(timeMs)) {
          found.add(timeMs);
          took.push(nowMs - sentMs);
        } else if (!found.has(timeMs) && nowMs - sentMs > PATIENCE_MS)
          throw new Error(`a sample could not be read after ${PATIENCE_MS / 1000} s`);
      }
      await sleep(POLL_MS);
    }
    return took;
  }

  private async readMarkers(fromMs: number): Promise<ReadonlySet<number>> {
    const query = new URLSearchParams({
      label: 'host=marker',
      name: `${MARKER}_value`,
      from: String(Math.floor(fromMs / 1000)),
      to: String(Math.ceil(Date.now() / 1000) + 60),
    });
    const response = await fetch(`${this.url}/api/v1/series/metrics?${query}`, {
      headers: { 'x-api-key': this.apiKey },
    });
    // 404 before the first sample.
    if (response.status === 404) return new Set();
    if (!response.ok) throw new Error(`a read was answered ${response.status} ${await response.text()}`);
    const { metrics } = (await response.json()) as { metrics: { time: number }[] };
    return new Set(metrics.map(({ time }) => Math.round(time * 1000)));
  }

  private next(): Body {
    const body = this.bodies.next().value as Body;
    this.minutes = body.minute;
    return body;
  }

  /** Returns once the body is acknowledged. */
  private async post(body: string): Promise<void> {
    const headers = { 'x-api-key': this.apiKey, 'content-type': 'text/plain' };
    const response = await fetch(`${this.url}/write`, { method: 'POST', headers, body });
    if (!response.ok) throw new Error(`a post was answered ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  }
}

interface Marker {
  /** The marker's own time, ms since epoch. */
  readonly timeMs: number;
  /** Monotonic clock, ms. */
  readonly sentMs: number;
}

interface Body {
  readonly text: string;
  readonly samples: number;
  /** From 0. */
  readonly minute: number;
}

/** Consecutive minutes that end before now. */
function* endless(bodies: AgentBodies, hosts: readonly string[]): Generator<Body> {
  const fromMs = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 23 * 60 * MINUTE_MS;
  for (let minute = 0; ; minute++) {
    let before = bodies.samples;
    for (const text of bodies.minute('influx', hosts, minute, fromMs + minute * MINUTE_MS)) {
      yield { text, samples: bodies.samples - before, minute };
      before = bodies.samples;
    }
  }
}
