/** `npm run bench -- paper`: the experiments of the HeteroTSDB paper, ours beside the paper's way. */
import { Command } from 'commander';
import { measureFlush } from './flush';
import { type Load, measureIngest, type Phase } from './ingest';

interface Options {
  readonly largest: string;
  readonly json?: boolean;
}

const WAYS = ['ours', 'paper'] as const;
type Way = (typeof WAYS)[number];

interface InsertRow {
  readonly table: 'nodes' | 'series';
  readonly way: Way;
  readonly nodes: number;
  readonly series: number;
  /** Of known series, with every process and node on this machine. */
  readonly samplesPerSecond: number;
  /** CPU seconds per million samples. */
  readonly cpu: Phase['cpu'];
  /** Samples that the nodes take in a second if each has a core of its own: by the CPU of the busiest one. */
  readonly samplesPerSecondOfNodes: number;
  readonly hotBytesPerSample: number;
}

interface FlushRow {
  readonly table: 'flush';
  readonly way: Way;
  readonly samplesPerSecond: number;
  readonly cpu: { readonly flusher: number; readonly store: number };
  readonly writeUnitsPerMillion: number;
}

interface MemoryRow {
  readonly table: 'memory';
  readonly way: Way;
  readonly residencyMinutes: number;
  readonly bytesPerSample: number;
}

type Row = InsertRow | FlushRow | MemoryRow;

const METRICS = 100;
const NODES = [1, 2, 4];
/** Of 100 series each. */
const NODES_HOSTS = 1_000;
const FLUSHED_HOSTS = 200;
const RESIDENCIES_MIN = [1, 10, 30, 60];
/** Samples of each measurement: fewer the paper's way, which is slower. */
const SAMPLES = { ours: 3_000_000, paper: 300_000 };

/** @param args what follows `paper` on the command line */
export async function benchPaper(args: string[]): Promise<void> {
  const command = new Command('bench paper')
    .description(
      "The HeteroTSDB paper's experiments, ours and the paper's way in one run: insertion by nodes and by series, flushes, " +
        'memory by residency.',
    )
    .option('--largest <series>', 'most series: 1000000, or 5000000 for three minutes more', '1000000')
    .option('--json', 'an array of rows on stdout, as the last line')
    .addHelpText(
      'after',
      '\nReal: post, ingester and flusher as deployed, Valkey and its cluster, the SDK and its HTTP of flushes. Stubbed: as in `bench\n' +
        "ingest` and `bench flush`. Nodes, processes and stand-ins share this machine's cores.",
    );
  command.parse(args, { from: 'user' });
  const { largest, json } = command.opts<Options>();
  const rows: Row[] = [];
  const add = (row: Row) => {
    rows.push(row);
    process.stderr.write(`${describe(row)}\n`);
  };
  for (const nodes of NODES) for (const way of WAYS) add(await insert('nodes', way, nodes, NODES_HOSTS));
  // 100,000 series are the row of one node.
  for (const series of [10_000, 1_000_000, 5_000_000])
    if (series <= Number(largest))
      for (const way of WAYS) add(await insert('series', way, 1, series / METRICS));
  for (const way of WAYS) {
    const { pointsPerSecond, cpu, writeUnitsPerMillionPoints, bytesByMinute } = await measureFlush(
      { hosts: String(FLUSHED_HOSTS), metrics: String(METRICS), minutes: '60', rate: '0', lanes: '1' },
      way,
    );
    const writeUnitsPerMillion = writeUnitsPerMillionPoints;
    add({ table: 'flush', way, samplesPerSecond: pointsPerSecond, cpu, writeUnitsPerMillion });
    for (const residencyMinutes of RESIDENCIES_MIN) {
      const samples = residencyMinutes * FLUSHED_HOSTS * METRICS;
      const bytesPerSample = bytesByMinute[residencyMinutes - 1]! / samples;
      add({ table: 'memory', way, residencyMinutes, bytesPerSample });
    }
  }
  if (json) process.stdout.write(`${JSON.stringify(rows)}\n`);
}

async function insert(table: InsertRow['table'], way: Way, nodes: number, hosts: number): Promise<InsertRow> {
  const load: Load = {
    hosts: String(hosts),
    metrics: String(METRICS),
    // The first minute is of new series.
    minutes: String(1 + Math.max(2, Math.ceil(SAMPLES[way] / (hosts * METRICS)))),
    workers: '2',
    warmUp: '200',
    nodes,
    protocol: 'influx',
    json: true,
  };
  const { warm, warmCpu: cpu, hotBytesPerPoint } = await measureIngest(load, way);
  return {
    table,
    way,
    nodes,
    series: hosts * METRICS,
    samplesPerSecond: Math.round(warm.pointsPerSecond),
    cpu,
    samplesPerSecondOfNodes: Math.round(1e6 / cpu.busiestNode),
    hotBytesPerSample: hotBytesPerPoint,
  };
}

function describe(row: Row): string {
  const k = (n: number) => `${Math.round(n / 1000)} k`;
  switch (row.table) {
    case 'flush':
      return `flush, ${row.way}: ${k(row.samplesPerSecond)} samples/s, CPU s a million ${row.cpu.flusher.toFixed(2)}, store ${row.cpu.store.toFixed(2)}, ${row.writeUnitsPerMillion} write units`;
    case 'memory':
      return `memory, ${row.way}: ${row.residencyMinutes} min, ${row.bytesPerSample.toFixed(1)} bytes a sample`;
    default:
      return (
        `insert by ${row.table}, ${row.way}: ${row.nodes} nodes, ${row.series} series: ${k(row.samplesPerSecond)} samples/s, ` +
        `${k(row.samplesPerSecondOfNodes)}/s by the nodes' CPU, ${row.hotBytesPerSample.toFixed(1)} hot bytes a sample`
      );
  }
}
