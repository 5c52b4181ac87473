import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Block, sampleCount } from '../../../shared/codec';
import type { ByteRange, ListedChunk } from '../../../shared/cold/archive-format';
import { readListed } from '../../../shared/cold/parquet-reader';
import { ArchiveWriter } from '../../../shared/cold/parquet-writer';
import { DAY_MS } from '../../../shared/model/duration';
import { type Labels, labelsKey } from '../../../shared/model/labels';
import { type Layout, layoutOf } from '../../../shared/model/layout';
import { mapLimited } from '../../../shared/platform/concurrency';
import { makeAgentData } from '../data/agent-data';
import { hashOf } from '../data/hash';
import { bench } from '../harness/bench';
import { count } from '../harness/options';

type Order = 'range' | 'hash' | 'arrival';
const ORDERS: readonly Order[] = ['range', 'hash', 'arrival'];

/** Number of series in a source; the constant below is the number in a group. */
const SERIES = 1_000;
const GROUP_SERIES = 250;
const MINUTES = 1_440;
const START_MS = Date.UTC(2026, 0, 5);
const PARALLEL = 16;

export const layout = bench({
  name: 'layout',
  summary: 'requests and bytes of archive reads, depending on the order of series in the object',
  description:
    'Measures requests, bytes and time of reads from an archive object, for three orders of its series: by source (range, as in ' +
    'the archive), by a hash of each series (hash), and by arrival, hour by hour (arrival).',
  notes:
    "Real: the archive's format, its writer and its reader, and an HTTP request for each range. Stubbed: S3 is an HTTP server in this\n" +
    'process, over loopback, so that a GET costs its CPU and no network; the directory is in memory, as if DynamoDB had\n' +
    'answered.',
  options: {
    sources: count('sources of 1,000 series each, one sample a minute', 20),
    rounds: count('reads of each kind; times are the least', 5),
  },
  run: async ({ sources, rounds }, harness) => {
    const rows: object[] = [];
    const add = harness.adder(rows);
    const store = new RangeServer();
    await store.start();
    harness.atEnd(() => store.stop());
    const data = new DayOfSources(sources);
    for (const order of ORDERS) {
      const day = await writeDay(store, order, data);
      for (const { query, run } of queriesOf(data, day, store)) {
        const found = [];
        for (let round = 0; round < rounds; round++) found.push(await store.measure(run));
        const [least] = found.sort((a, b) => a.ms - b.ms);
        add({ layout: order, query, ...least! });
      }
    }
    return rows;
  },
});

/** A day of sources with the same metrics. Each source's values are shifted in time by a different amount. */
class DayOfSources {
  private readonly agent = makeAgentData(MINUTES).map(({ values }) => Float64Array.from(values));
  /** Labels by source, then by metric. */
  readonly series: readonly (readonly Labels[])[];

  constructor(sources: number) {
    this.series = Array.from({ length: sources }, (_, source) =>
      Array.from(
        { length: SERIES },
        (_, metric): Labels => [
          ['__name__', `metric_${String(metric).padStart(4, '0')}`],
          ['host', `host-${String(source).padStart(5, '0')}`],
        ],
      ),
    );
  }

  /**
   * Makes a block with a row for each minute of a range.
   *
   * @param places columns, given by source and metric
   */
  block(places: readonly Place[], fromMinute: number, toMinute: number): Block {
    const count = toMinute - fromMinute;
    return {
      layout: new Uint8Array(16),
      timestamps: Float64Array.from({ length: count }, (_, i) => START_MS + (fromMinute + i) * 60_000),
      versions: Array.from({ length: count }, (_, i) => ({
        arrivalMs: START_MS + (fromMinute + i) * 60_000 + 700,
        sequence: BigInt(fromMinute + i + 1),
      })),
      rowVersions: Uint32Array.from({ length: count }, (_, i) => i),
      columns: places.map(({ source, metric }) => {
        const values = this.agent[metric % this.agent.length]!;
        return {
          values: Float64Array.from(
            { length: count },
            (_, i) => values[(fromMinute + i + 97 * source + 13 * metric) % MINUTES]!,
          ),
        };
      }),
    };
  }
}

interface Place {
  readonly source: number;
  readonly metric: number;
}

/** Returns the groups of an object in order, each with the time range of its chunk. */
function groupsOf(
  order: Order,
  sources: number,
): { places: Place[]; fromMinute: number; toMinute: number }[] {
  const all = Array.from({ length: sources }, (_, source) =>
    Array.from({ length: SERIES }, (_, metric): Place => ({ source, metric })),
  );
  const whole = { fromMinute: 0, toMinute: MINUTES };
  if (order === 'hash') {
    const hashed = all.flat().sort((a, b) => hashOf(a.source, a.metric) - hashOf(b.source, b.metric));
    return cut(hashed).map((places) => ({ places, ...whole }));
  }
  if (order === 'range') return all.flatMap((own) => cut(own).map((places) => ({ places, ...whole })));
  return Array.from({ length: 24 }, (_, hour) =>
    // Sources post at times of their own, in a different order each hour.
    all
      .map((own, source) => ({ own, at: hashOf(source, hour) }))
      .sort((a, b) => a.at - b.at)
      .flatMap(({ own }) =>
        cut(own).map((places) => ({ places, fromMinute: 60 * hour, toMinute: 60 * (hour + 1) })),
      ),
  ).flat();
}

function cut(places: readonly Place[]): Place[][] {
  return Array.from({ length: Math.ceil(places.length / GROUP_SERIES) }, (_, i) =>
    places.slice(i * GROUP_SERIES, (i + 1) * GROUP_SERIES),
  );
}

async function writeDay(store: RangeServer, order: Order, data: DayOfSources): Promise<WrittenDay> {
  const parts: Uint8Array[] = [];
  const layouts: Layout[] = [];
  const writer = new ArchiveWriter(async (part) => void parts.push(part));
  for (const [i, { places, fromMinute, toMinute }] of groupsOf(order, data.series.length).entries()) {
    const labelsOf = ({ source, metric }: Place) => data.series[source]![metric]!;
    const layout = layoutOf(places.map(labelsOf));
    layouts.push(layout);
    // A layout sorts its series, so look up the place of each column again.
    const placeOf = new Map(places.map((place) => [labelsKey(labelsOf(place)), place]));
    const block = data.block(
      layout.series.map((labels) => placeOf.get(labelsKey(labels))!),
      fromMinute,
      toMinute,
    );
    const group = String(i).padStart(22, '0');
    await writer.addGroup(group, [{ block: { ...block, layout: layout.idBytes }, layout }]);
  }
  const chunks = await writer.finish(new Map());
  store.content = Buffer.concat(parts);
  return { chunks: chunks!, layouts };
}

interface WrittenDay {
  readonly chunks: readonly ListedChunk[];
  /** Layouts of the chunks, in order. */
  readonly layouts: readonly Layout[];
}

interface Query {
  readonly query: string;
  run(): Promise<void>;
}

function queriesOf(data: DayOfSources, { chunks, layouts }: WrittenDay, store: RangeServer): Query[] {
  const object = { key: 'day', slice: (range: ByteRange) => store.slice(range) };
  const known = new Map(layouts.map((layout) => [layout.id, layout]));
  const range = { fromMs: START_MS, toMs: START_MS + DAY_MS };
  const read = (query: string, series: readonly Labels[]): Query => {
    const wanted = layoutOf(series);
    const keys = [...wanted.columns.keys()];
    // Readers learn from the catalogue which groups to read.
    const requested = chunks.filter((_, i) => keys.some((key) => layouts[i]!.columns.has(key)));
    const selection = { wanted, groups: requested.map(({ chunk }) => chunk.group), range, layouts: known };
    const run = async () => {
      const found = await mapLimited(requested, PARALLEL, (listed) =>
        readListed(object, listed, selection, false),
      );
      const samples = found.reduce(
        (sum, each) => sum + (each === undefined ? 0 : sampleCount(each.block)),
        0,
      );
      if (samples !== series.length * MINUTES)
        throw new Error(`${samples} samples of ${series.length} series`);
    };
    return { query, run };
  };
  const middle = Math.floor(data.series.length / 2);
  return [
    read('one series', [data.series[middle]![500]!]),
    read('1,000 neighbouring series', data.series[middle]!),
    read(
      'one metric over all sources',
      data.series.map((own) => own[500]!),
    ),
  ];
}

/** Serves S3's ranged GETs and counts them. */
class RangeServer {
  content = Buffer.alloc(0);
  private gets = 0;
  private bytes = 0;
  // Keep connections open while the next object is written.
  private readonly server = createServer({ keepAliveTimeout: 0 }, ({ headers }, response) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '')!;
    const part = this.content.subarray(Number(from), Number(to) + 1);
    response.writeHead(206, { 'content-length': part.length }).end(part);
  });
  private readonly agent = new Agent({ keepAlive: true, maxSockets: PARALLEL });

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  async slice({ offset, length }: ByteRange): Promise<Uint8Array> {
    this.gets++;
    this.bytes += length;
    const { port } = this.server.address() as AddressInfo;
    const headers = { range: `bytes=${offset}-${offset + length - 1}` };
    const request = get({ host: '127.0.0.1', port, agent: this.agent, headers });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return buffer(response);
  }

  async measure(run: () => Promise<void>) {
    this.gets = 0;
    this.bytes = 0;
    const beganMs = performance.now();
    await run();
    const ms = Math.round((performance.now() - beganMs) * 10) / 10;
    return { gets: this.gets, bytes: this.bytes, ms };
  }

  stop(): void {
    this.agent.destroy();
    this.server.close();
  }
}
