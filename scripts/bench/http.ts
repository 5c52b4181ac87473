import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpClient } from '../local/http-client';
import { AgentBodies } from './data/agent-bodies';
import { bench } from './frame/bench';
import type { Frame } from './frame/frame';
import { count, number, text } from './frame/options';
import { quantile } from './frame/quantile';
import { startBenchStack, UNLIMITED } from './frame/stack';

const MINUTE_MS = 60_000;
const POLL_MS = 10;
const MARKERS_A_SECOND = 5;
const WARM_UP_MINUTES = 5;
/** Time after which an unreadable marker counts as lost, in ms. */
const PATIENCE_MS = 10 * 60_000;
const MARKER = 'benchmarker';

export const http = bench({
  name: 'http',
  summary: 'samples per second over HTTP to the local stack, including the time until they can be read',
  description:
    'Finds the highest rate of samples that the local stack acknowledges and makes readable, posted as line protocol over HTTP (20 ' +
    'hosts a request). Then measures, at half of that rate, the time until an acknowledgement and until a sample can be read.',
  notes:
    'The local stack is `npm start`: the functions as they are deployed, each in processes of its own, Valkey, and stand-ins for\n' +
    'API Gateway, Kinesis, its event source mapping, DynamoDB and S3; client and all of these share this machine.\n' +
    `Freshness: a sample of a further series is posted ${MARKERS_A_SECOND} times a second and read every ${POLL_MS} ms until an answer\n` +
    'has it. The time counts from before the post until that answer.',
  options: {
    hosts: count('hosts', 1000),
    metrics: count('metrics of each host', 100),
    clients: count('concurrent clients while the maximum is determined', 8),
    seconds: number('duration of each of the two parts, in s', 20),
    batchWindow: text(
      '<duration>',
      'time for which the mapping gathers a batch, as deployed; `npm start` has 0s',
      '1s',
    ),
  },
  run: async ({ batchWindow, ...load }, frame) => {
    const { client } = await startBenchStack(frame, { ...UNLIMITED, batchWindow });
    const run = new HttpRun(frame, client, load);
    await run.warmUp();
    const pointsPerSecond = await run.maximum();
    const { acks, fresh, offered } = await run.atRate(pointsPerSecond / 2);
    return {
      /** Highest rate of samples that are acknowledged and readable. */
      pointsPerSecond: Math.round(pointsPerSecond),
      offeredPointsPerSecond: Math.round(offered),
      posts: acks.length,
      ackP50Ms: Math.round(quantile(acks, 0.5)),
      ackP99Ms: Math.round(quantile(acks, 0.99)),
      markers: fresh.length,
      freshP50Ms: Math.round(quantile(fresh, 0.5)),
      freshP99Ms: Math.round(quantile(fresh, 0.99)),
    };
  },
});

interface HttpLoad {
  readonly hosts: number;
  readonly metrics: number;
  readonly clients: number;
  readonly seconds: number;
}

class HttpRun {
  private readonly bodies: Generator<Body>;
  private lastMarkerMs = 0;
  /** Number of minutes posted for every host. */
  private minutes = 0;

  constructor(
    private readonly frame: Frame,
    private readonly client: HttpClient,
    private readonly load: HttpLoad,
  ) {
    const ids = Array.from({ length: load.hosts }, (_, i) => `dense${i}`);
    this.bodies = endless(new AgentBodies(load.metrics), ids);
  }

  /** Posts some minutes of every host, so that series are known and code is compiled. */
  async warmUp(): Promise<void> {
    await this.flood(() => this.minutes < WARM_UP_MINUTES);
    await this.untilRead();
  }

  /** Returns the samples per second acknowledged in a time span, measured until all are readable. */
  async maximum(): Promise<number> {
    const beganMs = performance.now();
    const points = await this.flood(() => performance.now() - beganMs < this.load.seconds * 1000);
    const acknowledgedMs = performance.now() - beganMs;
    await this.untilRead();
    this.frame.log(
      `${points} samples acknowledged in ${Math.round(acknowledgedMs)} ms, readable after ${Math.round(performance.now() - beganMs)} ms`,
    );
    return points / ((performance.now() - beganMs) / 1000);
  }

  /**
   * Posts with several clients. Each sends its next body as soon as the previous one is acknowledged.
   *
   * @returns number of samples acknowledged
   */
  private async flood(goesOn: () => boolean): Promise<number> {
    let points = 0;
    await Promise.all(
      Array.from({ length: this.load.clients }, async () => {
        while (goesOn()) {
          const { text, samples } = this.next();
          await this.post(text);
          points += samples;
        }
      }),
    );
    return points;
  }

  /**
   * Waits until everything posted so far is readable. It suffices to wait for a marker, because the stream
   * keeps its order.
   */
  private async untilRead(): Promise<void> {
    const timeMs = await this.mark();
    await this.untilReadable([{ timeMs, sentMs: performance.now() }], () => false);
  }

  /** Posts at a fixed rate without waiting for acknowledgements. */
  async atRate(pointsPerSecond: number): Promise<{ acks: number[]; fresh: number[]; offered: number }> {
    const acks: number[] = [];
    const sent: Promise<void>[] = [];
    const markers: Marker[] = [];
    const beganMs = performance.now();
    let isOver = false;
    const fresh = this.untilReadable(markers, () => !isOver);
    let points = 0;
    while (performance.now() - beganMs < this.load.seconds * 1000) {
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

  /** Returns the time of the next marker. Each marker has a unique time, by which it is found. */
  private nextMarkerMs(): number {
    this.lastMarkerMs = Math.max(this.lastMarkerMs + 1, Date.now());
    return this.lastMarkerMs;
  }

  private async mark(timeMs = this.nextMarkerMs()): Promise<number> {
    await this.post(`${MARKER},host=marker value=1 ${timeMs}000000`);
    return timeMs;
  }

  /**
   * Reads the marker series until it contains every marker.
   *
   * @param mayGrow whether more markers may follow
   * @returns for each marker the time until it was readable, in ms
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
    const { status, text } = await this.client.send(`/api/v1/series/metrics?${query}`);
    // 404 before the first sample arrived; 503 when a store takes too long.
    if (status === 404 || status === 503) return new Set();
    if (status !== 200) throw new Error(`a read was answered ${status} ${text}`);
    const { metrics } = JSON.parse(text) as { metrics: { time: number }[] };
    return new Set(metrics.map(({ time }) => Math.round(time * 1000)));
  }

  private next(): Body {
    const body = this.bodies.next().value as Body;
    this.minutes = body.minute;
    return body;
  }

  /** Posts a body until it is acknowledged, retrying when a store took too long. */
  private async post(body: string): Promise<void> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const { status, text } = await this.client.send('/write', body, 'text/plain');
      if (status < 300) return;
      if (status !== 503 || performance.now() > untilMs)
        throw new Error(`a post was answered ${status} ${text}`);
      await sleep(POLL_MS);
    }
  }
}

interface Marker {
  /** Timestamp of the marker, in ms since epoch. */
  readonly timeMs: number;
  /** Sending time on the monotonic clock, in ms. */
  readonly sentMs: number;
}

interface Body {
  readonly text: string;
  readonly samples: number;
  /** Number of the minute, from 0. */
  readonly minute: number;
}

/** Yields bodies of consecutive minutes in the past, without end. */
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
