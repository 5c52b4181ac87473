import { cpus } from 'node:os';
import { HOUR_MS, MINUTE_MS } from '../../shared/model/duration';
import { SHAPES, type Shape } from './data/agent-bodies';
import { bench } from './harness/bench';
import type { Harness } from './harness/harness';
import { startHotNodes } from './harness/hot-nodes';
import { choice, count, flag, text } from './harness/options';
import { peakMemory, scriptCalls, usedMemory } from './harness/redis-info';
import { lineOf } from './harness/report';
import { type Load, makeMinute, postMinute, startIngest } from './ingest-load';
import type { Round, Way } from './workers/ingest';

/** A minute counts as having only known series if at most this share of its samples belong to new series. */
const MAX_NEW = 1e-4;
const WARM_UP_MINUTES = 3;
const SHAPE_NAMES = Object.keys(SHAPES) as Shape[];
const PROTOCOLS = ['mackerel', 'influx', 'remote-write', 'otlp'] as const;

export const ingest = bench({
  name: 'ingest',
  summary: "samples per second into memory, compared with the HeteroTSDB paper's method",
  description:
    'Measures samples per second from a post to memory: the post handler (authentication, limits, validation, encoding), batches ' +
    'like those of the event source mapping, the ingester handler with its catalogue writes, and a real Valkey on loopback. ' +
    'The handlers are bundled as they are deployed.',
  notes:
    'Stubbed: the sockets of the AWS SDK, behind which Kinesis and DynamoDB are maps in the same process (their own time is\n' +
    'subtracted from CPU figures), API Gateway, and the JSON of the invocations.\n' +
    "The paper's method: the same post handler, then one script call for each host. For each sample, the script appends 16 bytes,\n" +
    'checks the time to live, and sets it or adds an entry to a stream.',
  options: {
    hosts: count('hosts', 10_000),
    metrics: count('metrics of each host', 100),
    minutes: count('minutes that each host posts; in the first every series is new', 30, 2),
    workers: count('processes, each with one shard and its functions', Math.min(2, cpus().length)),
    protocol: choice(
      'mackerel (JSON, one host a request), influx (20 lines a request), remote-write or otlp (2,000 samples of 10 labels a ' +
        'request, a host is a target)',
      PROTOCOLS,
      'mackerel',
    ),
    warmUp: count(
      'other hosts that post for three minutes before: the first minute then measures new series, not new processes (default: ' +
        'as many as have 100,000 series)',
      undefined,
      0,
    ),
    shape: choice(SHAPE_NAMES.map((name) => `${name}: ${SHAPES[name]}`).join('; '), SHAPE_NAMES, 'dense'),
    paper: flag("skip the paper's method", true),
    cpuProf: text('<dir>', 'write a CPU profile of each process to this folder'),
  },
  run: async (options, harness) => {
    const { minutes, shape } = options;
    const isLone = shape === 'lone';
    const load = {
      shape,
      workers: options.workers,
      cpuProf: options.cpuProf,
      warmUpHosts: options.warmUp ?? Math.ceil(100_000 / options.metrics),
      // Mackerel's posts are always dense.
      protocol: shape === 'dense' ? options.protocol : 'influx',
      hosts: isLone ? options.hosts * options.metrics : options.hosts,
      metrics: isLone ? 1 : options.metrics,
    };
    // The paper's method cannot take other requests.
    const hasPaper = shape === 'dense' && ['mackerel', 'influx'].includes(load.protocol) && options.paper;
    const ours = await measureIngest(harness, { ...load, minutes });
    const paper = hasPaper ? await measureIngest(harness, { ...load, minutes: 3 }, 'paper') : undefined;
    const phases = { cold: ours.cold, growing: ours.growing, warm: ours.warm, paper: paper?.warm };
    for (const [name, phase] of Object.entries(phases))
      if (phase !== undefined) harness.log(`${name.padEnd(7)} ${lineOf(phase)}`);
    const { warm } = ours;
    return {
      protocol: load.protocol,
      shape,
      series: load.hosts * load.metrics,
      /**
       * Cold: the rate in the first minute, in which all series are new. Warm: the rate in minutes without new series.
       */
      coldPointsPerSecond: Math.round(ours.cold.pointsPerSecond),
      warmPointsPerSecond: Math.round(warm.pointsPerSecond),
      /** Rate of the paper's method with known series; 0 if it was skipped. */
      seedPointsPerSecond: Math.round(paper?.warm.pointsPerSecond ?? 0),
      ratioToSeed: paper === undefined ? 0 : warm.pointsPerSecond / paper.warm.pointsPerSecond,
      cpuSecondsPerMillion: warm.cpu,
      hotBytesPerPoint: ours.hotBytesPerPoint,
      /** Rate in later minutes in which some series are new; 0 if there are none. */
      growingPointsPerSecond: Math.round(ours.growing?.pointsPerSecond ?? 0),
      redisCallsPerMillion: warm.redisCallsPerMillion,
      putUnitsPerMillion: warm.putUnitsPerMillion,
      writeUnitsPerMillion: warm.writeUnitsPerMillion,
      peakRssBytes: ours.peakRssBytes,
      storePeakBytes: ours.storePeakBytes,
    };
  },
});

type Phase = ReturnType<typeof phaseOf>;

interface Measured extends Omit<Load, 'redisUrl'> {
  readonly minutes: number;
  /**
   * Number of primaries of the hot tier.
   *
   * @default 1
   */
  readonly nodes?: number;
}

/**
 * Runs a load into an empty store. All series are new in the first minute, and known in later ones. If requests contain
 * random parts of hosts, some series are new in each of the first dozen minutes.
 */
export function measureIngest(
  outer: Harness,
  { minutes, nodes: nodeCount = 1, ...load }: Measured,
  way: Way = 'ours',
) {
  return outer.part(async (harness) => {
    const nodes = await startHotNodes(harness, nodeCount);
    const workers = await Promise.all(
      Array.from({ length: load.workers }, (_, i) =>
        startIngest(harness, { ...load, redisUrl: nodes.url }, i),
      ),
    );
    const ofNodes = async (of: (node: (typeof nodes.clients)[number]) => Promise<number>) =>
      sum(await Promise.all(nodes.clients.map(of)), (each) => each);
    const make = (minute: number, timeMs: number, isWarmUp = false) =>
      Promise.all(workers.map((worker) => makeMinute(worker, minute, timeMs, isWarmUp)));
    const post = () => Promise.all(workers.map((worker) => postMinute(worker, way)));
    // Start at a full hour, so that 60 minutes are one window.
    const fromMs = Math.floor((Date.now() - minutes * MINUTE_MS) / HOUR_MS) * HOUR_MS;
    for (let minute = 0; minute < WARM_UP_MINUTES && load.warmUpHosts > 0; minute++) {
      await make(minute, fromMs + (minute - WARM_UP_MINUTES) * MINUTE_MS, true);
      await post();
    }
    const emptyBytes = await ofNodes(usedMemory);
    const phases: Phase[] = [];
    let [peakRssBytes, points] = [0, 0];
    for (let minute = 0; minute < minutes; minute++) {
      await make(minute, fromMs + minute * MINUTE_MS);
      const nodesMs = nodes.cpuMs();
      const callsBefore = await ofNodes(scriptCalls);
      const rounds = await post();
      const spentMs = nodes.cpuMs().map((ms, node) => ms - nodesMs[node]!);
      const phase = phaseOf(rounds, spentMs, (await ofNodes(scriptCalls)) - callsBefore);
      phases.push(phase);
      points += sum(rounds, (round) => round.points);
      peakRssBytes = Math.max(...rounds.map((round) => round.peakRssBytes));
      harness.log(`${way} minute ${minute}: ${lineOf(phase)}`);
    }
    const [cold, ...later] = phases;
    const known = later.filter(({ newFraction }) => newFraction <= MAX_NEW);
    if (known.length === 0)
      throw new Error(`some series are new in each of the ${minutes} minutes: give more minutes`);
    const mean = (of: keyof Phase['cpu']) => sum(known, ({ cpu }) => cpu[of]) / known.length;
    return {
      cold: cold!,
      /** Later minutes in which some series are new; undefined if there are none. */
      growing: median(later.filter(({ newFraction }) => newFraction > MAX_NEW)),
      warm: median(known)!,
      /** CPU, averaged over all minutes in which the series are known. */
      warmCpu: {
        post: mean('post'),
        ingest: mean('ingest'),
        store: mean('store'),
        busiestNode: mean('busiestNode'),
      },
      hotBytesPerPoint: ((await ofNodes(usedMemory)) - emptyBytes) / points,
      peakRssBytes,
      storePeakBytes: await ofNodes(peakMemory),
    };
  });
}

/** Returns the figures of one minute of a load. */
function phaseOf(rounds: readonly Round[], nodesCpuMs: readonly number[], redisCalls: number) {
  const points = sum(rounds, (round) => round.points);
  const elapsedMs =
    Math.max(...rounds.map(({ endMs }) => endMs)) - Math.min(...rounds.map(({ startMs }) => startMs));
  const perMillion = (total: number) => (total * 1e6) / points;
  return {
    pointsPerSecond: (points * 1000) / elapsedMs,
    /** Share of the samples whose series are new. */
    newFraction: sum(rounds, ({ newPoints }) => newPoints) / points,
    /** CPU seconds per million samples. */
    cpu: {
      post: perMillion(sum(rounds, ({ postCpuMs }) => postCpuMs)) / 1000,
      ingest: perMillion(sum(rounds, ({ ingestCpuMs }) => ingestCpuMs)) / 1000,
      store: perMillion(sum(nodesCpuMs, (ms) => ms)) / 1000,
      busiestNode: perMillion(Math.max(...nodesCpuMs)) / 1000,
    },
    recordBytes: sum(rounds, ({ recordBytes }) => recordBytes) / points,
    redisCallsPerMillion: perMillion(redisCalls),
    /** Units of 25 KB, at least one per record. */
    putUnitsPerMillion: perMillion(sum(rounds, ({ putUnits }) => putUnits)),
    /** Write units of the ingester and of post's counters. `bench flush` counts those of a flush. */
    writeUnitsPerMillion: perMillion(sum(rounds, ({ writeUnits }) => writeUnits)),
  };
}

/** Returns the phase with the median rate; undefined if there is none. */
function median(phases: readonly Phase[]): Phase | undefined {
  return [...phases].sort((a, b) => a.pointsPerSecond - b.pointsPerSecond)[phases.length >> 1];
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
