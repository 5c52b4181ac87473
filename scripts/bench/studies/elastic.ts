import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFrame } from '../../../shared/codec';
import { digestFrames } from '../../../shared/hot/frame-mover';
import { HOUR_MS } from '../../../shared/model/duration';
import { metricOf, sourceOf } from '../../../shared/model/labels';
import { tenantIdOf } from '../../../shared/model/placement';
import { mapLimited } from '../../../shared/platform/concurrency';
import { type LocalCluster, startCluster } from '../../local/cluster';
import { SLOTS, type SlotRange } from '../../local/slot-moves';
import { connectTiers, placeOf, type Tiers } from '../data/tenant-data';
import { bench } from '../harness/bench';
import type { Harness } from '../harness/harness';
import { count, numbers } from '../harness/options';
import { quantile } from '../harness/quantile';
import { startStores } from '../harness/stores';

const FROM = 3;
const MOST = 5;
const PARTITIONS = 1_024;
const TENANT = tenantIdOf('elastic');
const SOURCE = sourceOf.host('host');
/** Number of values in a frame, 8 bytes each. */
const SERIES = 1_000;
const FRAME_BYTES = 8 * SERIES;
const READERS = 8;
/** Number of frames that a writer appends in each write interval. This makes 4 MB/s. */
const WRITTEN_FRAMES = 10;
const WRITE_MS = 20;
/** Time for which reads are measured before any slot moves, in ms. */
const REST_MS = 700;

const LOADS = ['none', 'reads', 'writes'] as const;
type Load = (typeof LOADS)[number];

interface Case {
  /** Number of primaries afterwards. */
  readonly to: number;
  /** Whether several nodes join one at a time or all at once. */
  readonly way: 'one by one' | 'at once';
  readonly dataMB: number;
  /** Percentage of all slots that each new primary gets. */
  readonly share: number;
  readonly load: Load;
  readonly drained: boolean;
  /** Delay before each read is sent, in ms. */
  readonly readDelayMs: number;
}

interface Row extends Case {
  readonly from: number;
  /** Time from the first request to move slots until all nodes know the slots' new owners, in ms. */
  readonly joinMs: number;
  readonly readP50Ms: number;
  readonly readP99Ms: number;
  /** 99th percentile of reads while no slot moves, in ms. */
  readonly restP99Ms: number;
  readonly readsPerSecond: number;
  /** Number of reads and appends that failed, and of reads that reported that data may be missing. */
  readonly refused: number;
  /** Number of appended frames that cannot be read back when the run ends. */
  readonly lost: number;
}

export const elastic = bench({
  name: 'elastic',
  summary: 'time for new cache nodes to join under load, with and without draining first',
  description:
    'Adds primaries to a real Valkey cluster of three while it is read or written, as the elasticity study of 2012 did with ' +
    'Cassandra. Varies the data size, the share of slots that moves, how many primaries join at once, the delay of reads, and ' +
    'whether memory is drained first.',
  notes:
    'joinMs is from the first request to move slots until all nodes know their owners. Refused and lost must be 0. All servers and\n' +
    'readers share this machine; the warm table is left out.',
  options: {
    data: numbers('MB in memory', [0, 512]),
    shares: numbers('percent of the slots that a new primary gets', [4, 32]),
    delays: numbers('delays of reads, ms', [0, 4, 16, 64]),
    rounds: count('runs of each case; the medians are shown', 3),
  },
  run: async (sweep, harness) => ({ rows: await measure(harness, sweep) }),
});

interface Sweep {
  readonly data: readonly number[];
  readonly shares: readonly number[];
  readonly delays: readonly number[];
  readonly rounds: number;
}

async function measure(harness: Harness, { data, shares, delays, rounds }: Sweep): Promise<Row[]> {
  const stores = await startStores(harness);
  const cluster = await startCluster(join(harness.dir, 'cluster'), { primaries: FROM, replicas: 0 });
  harness.atEnd(() => cluster.stop());
  const memory = await Memory.start(cluster, connectTiers(harness, { ...stores, redisUrl: cluster.url }));
  const rows: Row[] = [];
  const add = harness.adder(rows);
  const base: Case = {
    to: 4,
    way: 'one by one',
    dataMB: Math.max(...data),
    share: 16,
    load: 'none',
    drained: false,
    readDelayMs: 0,
  };
  /** Runs the cases in turn, so that other load on the machine affects all of them. */
  const compare = async (cases: readonly Partial<Case>[]) => {
    const found = cases.map((): Row[] => []);
    const countCase = harness.counter('cases are measured', rounds * cases.length);
    for (let round = 0; round < rounds; round++)
      for (const [i, each] of cases.entries()) {
        const workload = { ...base, ...each };
        await memory.fill(workload.dataMB);
        found[i]!.push(await memory.measure(workload));
        countCase();
      }
    for (const each of found) add(summary(each));
  };
  const pairs = <A, B>(some: readonly A[], others: readonly B[]) =>
    some.flatMap((one) => others.map((other) => [one, other] as const));
  const still = ['none', 'reads'] as const;
  for (const dataMB of data.toSorted((a, b) => a - b)) await compare(LOADS.map((load) => ({ dataMB, load })));
  await compare(pairs(shares, still).map(([share, load]) => ({ share, load })));
  await compare(delays.map((readDelayMs) => ({ load: 'reads', share: Math.max(...shares), readDelayMs })));
  const ways = ['one by one', 'at once'] as const;
  await compare(pairs(ways, still).map(([way, load]) => ({ to: 5, way, load })));
  await compare(pairs(data, LOADS).map(([dataMB, load]) => ({ dataMB, load, drained: true })));
  return rows;
}

/** Samples of a host, in so many partitions that each node of a cluster has about the same number of them. */
class Memory {
  private readonly place = placeOf(
    TENANT,
    SOURCE,
    Array.from({ length: SERIES }, (_, m) => metricOf(SOURCE, `metric${m}`)),
  );
  private readonly refs = Array.from({ length: PARTITIONS }, (_, partition) => ({
    tenantId: TENANT,
    partition,
  }));
  private readonly windowStart = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  /** Number of frames in each partition that were appended but not drained. */
  private readonly held = new Array<number>(PARTITIONS).fill(0);
  private sequence = 0n;
  private refused = 0;

  private constructor(
    private readonly cluster: LocalCluster,
    private readonly tiers: Pick<Tiers, 'client' | 'hot' | 'losses'>,
  ) {}

  static async start(cluster: LocalCluster, tiers: Tiers): Promise<Memory> {
    const memory = new Memory(cluster, tiers);
    // Start empty nodes in advance, so that starting a process is not measured.
    for (let i = FROM; i < MOST; i++) await cluster.join();
    await tiers.losses.lookAndRecord();
    await mapLimited(memory.refs, 32, (ref) => tiers.losses.resolve(ref));
    return memory;
  }

  /** Appends until memory holds this much data. */
  async fill(dataMB: number): Promise<void> {
    const each = Math.round((dataMB * 1e6) / FRAME_BYTES / PARTITIONS);
    await mapLimited(this.refs, 16, async (_, i) => {
      while (this.held[i]! < each) await this.append(i, Math.min(32, each - this.held[i]!));
    });
  }

  /** Removes all frames, like a flusher that has moved them. Writing to the table is omitted. */
  private async drain(): Promise<void> {
    const { losses, hot } = this.tiers;
    const before = (await hot.nodes.now()) + 1;
    await mapLimited(this.refs, 16, async (ref, i) => {
      await losses.resolve(ref);
      for (;;) {
        const [lease] = await hot.mover.lease(ref, before, 1, 60_000);
        if (lease === undefined) return;
        const { frames, isAll } = await hot.mover.frames(ref, lease.group, lease.windowStart);
        await hot.mover.trim(ref, lease, digestFrames(frames, isAll));
        this.held[i]! -= frames.length;
      }
    });
  }

  private async append(i: number, count: number): Promise<void> {
    const { group, layout, packed } = this.place;
    const { hot, losses } = this.tiers;
    const arrivalMs = Date.now();
    const frames = Array.from({ length: count }, () =>
      encodeFrame({
        layout: layout.idBytes,
        timestamp: this.windowStart + Number(this.sequence % 3_600n) * 1_000,
        version: { arrivalMs, sequence: this.sequence++ },
        values: new Uint8Array(FRAME_BYTES).fill(Number(this.sequence % 251n)),
      }),
    );
    const windows = [{ group, windowStart: this.windowStart, frames }];
    const addition = { arrivalMs, layouts: new Map([[layout.id, packed]]), windows };
    await hot.appender.append(this.refs[i]!, addition).catch(async () => {
      await losses.resolve(this.refs[i]!);
      await hot.appender.append(this.refs[i]!, addition);
    });
    this.held[i]! += count;
  }

  /** Reads a series from a random partition. A read counts as refused if its data may be incomplete. */
  private async read(): Promise<void> {
    const ref = this.refs[Math.floor(Math.random() * PARTITIONS)]!;
    const { partition } = await this.tiers.hot.reader.windows(ref, {
      group: this.place.group,
      windows: [this.windowStart],
      picks: [{ layout: this.place.layout.idBytes, columns: new Uint32Array([7]) }],
      picksKey: 'column 7',
    });
    if ((await this.tiers.losses.missingSince(ref, partition.mark)) !== undefined) this.refused++;
  }

  /** Reads or writes until stopped. */
  private under(load: Load, delayMs: number): { take(): number[]; stop(): Promise<void> } {
    let isOver = false;
    const durations: number[] = [];
    const go = async (work: () => Promise<void>) => {
      while (!isOver) {
        const startedMs = performance.now();
        await work().catch(() => {
          this.refused++;
        });
        durations.push(performance.now() - startedMs);
      }
    };
    const reader = () =>
      go(async () => {
        if (delayMs > 0) await sleep(delayMs);
        await this.read();
      });
    const writer = () =>
      go(async () => {
        await this.append(Math.floor(Math.random() * PARTITIONS), WRITTEN_FRAMES);
        await sleep(WRITE_MS);
      });
    const running =
      load === 'none' ? [] : load === 'reads' ? Array.from({ length: READERS }, reader) : [writer()];
    return {
      take: () => durations.splice(0),
      stop: async () => {
        isOver = true;
        await Promise.all(running);
      },
    };
  }

  async measure(each: Case): Promise<Row> {
    const { to, way, share, load, drained, readDelayMs } = each;
    this.refused = 0;
    const primaries = await this.cluster.primaries();
    const [before, joined] = [primaries.slice(0, FROM), primaries.slice(FROM, to)];
    const owned = await Promise.all(before.map((node) => this.cluster.slotsOf(node)));
    const { take, stop } = this.under(load, readDelayMs);
    if (drained) await this.drain();
    take();
    await sleep(REST_MS);
    const rest = take();
    const moves = joined.map((node, n) =>
      before.map((from, i) => ({ from, to: node, ranges: part(owned[i]!, n, share / before.length) })),
    );
    const startedMs = performance.now();
    const moveAll = (all: (typeof moves)[number]) =>
      Promise.all(all.map(({ from, to: target, ranges }) => this.cluster.moveSlots(ranges, from, target)));
    if (way === 'at once') await Promise.all(moves.map(moveAll));
    else for (const all of moves) await moveAll(all);
    const joinMs = performance.now() - startedMs;
    const reads = load === 'reads' ? take() : [];
    await stop();
    const lost = await this.lost();
    // Move the slots back for the next case.
    for (const all of moves)
      for (const { from, to: target, ranges } of all) await this.cluster.moveSlots(ranges, target, from);
    await mapLimited(this.refs, 32, (ref) => this.tiers.losses.resolve(ref));
    return {
      ...each,
      from: before.length,
      joinMs: Math.round(joinMs),
      readP50Ms: rounded(reads, 0.5),
      readP99Ms: rounded(reads, 0.99),
      restP99Ms: load === 'reads' ? rounded(rest, 0.99) : 0,
      readsPerSecond: Math.round((1000 * reads.length) / joinMs),
      refused: this.refused,
      lost,
    };
  }

  private async lost(): Promise<number> {
    const found = await mapLimited(this.refs, 32, (ref) =>
      this.tiers.client.llen(this.tiers.hot.space.keyOf(ref, this.place.group, this.windowStart)),
    );
    return found.reduce((sum, frames, i) => sum + Math.max(0, this.held[i]! - frames), 0);
  }
}

/**
 * Summarizes rounds: the one with the median join time, with the medians of all read times and the totals of refused
 * and lost operations.
 */
function summary(rounds: readonly Row[]): Row {
  const median = (of: (row: Row) => number) => quantile(rounds.map(of), 0.5);
  const joinMs = median((row) => row.joinMs);
  return {
    ...rounds.find((row) => row.joinMs === joinMs)!,
    readP50Ms: median((row) => row.readP50Ms),
    readP99Ms: median((row) => row.readP99Ms),
    restP99Ms: median((row) => row.restP99Ms),
    refused: rounds.reduce((sum, { refused }) => sum + refused, 0),
    lost: rounds.reduce((sum, { lost }) => sum + lost, 0),
  };
}

/** Returns the `n`th part of a primary's slots, counted from their start. A part has `percent` of all slots. */
function part(owned: readonly SlotRange[], n: number, percent: number): SlotRange[] {
  const count = Math.round((SLOTS * percent) / 100);
  let skip = n * count;
  let left = count;
  const ranges: SlotRange[] = [];
  for (const [first, last] of owned) {
    const from = first + Math.min(skip, last - first + 1);
    skip -= from - first;
    const to = Math.min(last, from + left - 1);
    if (to < from) continue;
    ranges.push([from, to]);
    left -= to - from + 1;
    if (left === 0) break;
  }
  return ranges;
}

function rounded(durations: readonly number[], q: number): number {
  return durations.length === 0 ? 0 : Math.round(10 * quantile(durations, q)) / 10;
}
