import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Redis } from 'ioredis';
import { ENV } from '../../../shared/platform/names';
import { fillMemory, flushOurs } from '../flush';
import { bench } from '../harness/bench';
import { cpuMs, ownCpu } from '../harness/cpu';
import type { Harness } from '../harness/harness';
import { count } from '../harness/options';
import { startStores } from '../harness/stores';
import { measureIngest } from '../ingest';
import { flushPaperWay } from './paper-flush';

const WAYS = ['ours', 'paper'] as const;
type Way = (typeof WAYS)[number];

const METRICS = 100;
const NODES = [1, 2, 4];
/** Number of hosts, with 100 series each. */
const NODES_HOSTS = 1_000;
const FLUSHED = { hosts: 200, metrics: METRICS, minutes: 60 };
const RESIDENCIES_MIN = [1, 10, 30, 60];
/** Number of samples in a measurement. The paper's method gets fewer, because it is slower. */
const SAMPLES = { ours: 3_000_000, paper: 300_000 };

export const paper = bench({
  name: 'paper',
  summary: "insertion, flushes and memory, compared with the HeteroTSDB paper's method",
  description:
    "Repeats the experiments of the HeteroTSDB paper with this system and with the paper's method, in one run: insertion for several " +
    'numbers of nodes and series, flushes, and memory for several times in memory.',
  notes:
    'Real: post, ingester and flusher as deployed, Valkey and its cluster, the SDK and its HTTP of flushes. Stubbed: as in `bench\n' +
    "ingest` and `bench flush`. Nodes, processes and stand-ins share this machine's cores.",
  options: {
    largest: count(
      'largest number of series: 1000000, or 5000000, which takes three minutes more',
      1_000_000,
    ),
  },
  run: async ({ largest }, harness) => {
    const rows: object[] = [];
    const add = harness.adder(rows);
    for (const nodes of NODES)
      for (const way of WAYS) add({ table: 'nodes', ...(await insert(harness, way, nodes, NODES_HOSTS)) });
    // The row with one node already covers 100,000 series.
    for (const series of [10_000, 1_000_000, 5_000_000])
      if (series <= largest)
        for (const way of WAYS)
          add({ table: 'series', ...(await insert(harness, way, 1, series / METRICS)) });
    for (const way of WAYS) {
      const { bytesByMinute, ...flushed } = await (way === 'ours'
        ? flushOurs(harness, { ...FLUSHED, rate: 0 })
        : flushPaper(harness));
      const {
        pointsPerSecond: samplesPerSecond,
        writeUnitsPerMillionPoints: writeUnitsPerMillion,
        cpu,
      } = flushed;
      add({ table: 'flush', way, samplesPerSecond, cpu, writeUnitsPerMillion });
      for (const residencyMinutes of RESIDENCIES_MIN) {
        const samples = residencyMinutes * FLUSHED.hosts * METRICS;
        const bytesPerSample = bytesByMinute[residencyMinutes - 1]! / samples;
        add({ table: 'memory', way, residencyMinutes, bytesPerSample });
      }
    }
    return rows;
  },
});

async function insert(harness: Harness, way: Way, nodes: number, hosts: number) {
  const { warm, warmCpu, hotBytesPerPoint } = await measureIngest(
    harness,
    {
      hosts,
      nodes,
      metrics: METRICS,
      workers: 2,
      warmUpHosts: 200,
      protocol: 'influx',
      shape: 'dense',
      // In the first minute all series are new.
      minutes: 1 + Math.max(2, Math.ceil(SAMPLES[way] / (hosts * METRICS))),
    },
    way,
  );
  return {
    way,
    nodes,
    series: hosts * METRICS,
    /** Rate with known series, while all processes and nodes share this machine. */
    samplesPerSecond: Math.round(warm.pointsPerSecond),
    /** CPU seconds per million samples. */
    cpu: warmCpu,
    /**
     * Number of samples per second that the nodes could take if each had a core of its own, computed from the CPU of
     * the busiest node.
     */
    samplesPerSecondOfNodes: Math.round(1e6 / warmCpu.busiestNode),
    hotBytesPerSample: hotBytesPerPoint,
  };
}

/**
 * Fills memory with the method of the HeteroTSDB paper, and flushes it in this process with the flusher of that paper.
 */
function flushPaper(outer: Harness) {
  return outer.part(async (harness) => {
    const stores = await startStores(harness);
    const { bytesByMinute } = await fillMemory(harness, stores, FLUSHED, 'paper');
    const redis = new Redis(stores.redisUrl, { enableAutoPipelining: true });
    const client = new DynamoDBClient(stores.address);
    harness.atEnd(() => {
      redis.disconnect();
      client.destroy();
    });
    const [startMs, hotMs, cpu] = [performance.now(), cpuMs(stores.hot.pid()), ownCpu()];
    const { samples, writeUnits } = await flushPaperWay(redis, client, stores.environment[ENV.warmTable]!);
    const expected = FLUSHED.minutes * FLUSHED.hosts * METRICS;
    if (samples !== expected) throw new Error(`${samples} samples moved of ${expected}`);
    const perMillion = (total: number) => (total * 1e6) / samples;
    return {
      pointsPerSecond: Math.round((samples * 1000) / (performance.now() - startMs)),
      writeUnitsPerMillionPoints: Math.round(perMillion(writeUnits)),
      cpu: {
        flusher: perMillion(cpu()) / 1000,
        store: perMillion(cpuMs(stores.hot.pid()) - hotMs) / 1000,
      },
      bytesByMinute,
    };
  });
}
