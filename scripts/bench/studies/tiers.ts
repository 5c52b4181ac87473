import type { Redis } from 'ioredis';
import {
  type Block,
  blockFromFrames,
  blockFromPicked,
  encodeChunk,
  encodeVersion,
  type Frame,
  mergeBlocks,
  openChunk,
  packSampleFrame,
  pickedFrames,
  sliceBlock,
} from '../../../shared/codec';
import type { ArchiveDirectory } from '../../../shared/cold/archive-directory';
import type { ColdTier } from '../../../shared/cold/cold-tier';
import type { HotTier } from '../../../shared/hot/hot-tier';
import { gather } from '../../../shared/model/block-layout';
import { DAY_MS, MINUTE_MS } from '../../../shared/model/duration';
import { labelValue, METRIC_NAME, metricOf, sourceOf } from '../../../shared/model/labels';
import { type Day, dayOf, tenantIdOf } from '../../../shared/model/placement';
import type { TimeRange } from '../../../shared/model/selection';
import { parseSettings } from '../../../shared/platform/settings';
import { revisionOf, type WarmTier } from '../../../shared/warm/warm-tier';
import { makeAgentData } from '../data/agent-data';
import { connectTiers, type Place, placeOf } from '../data/tenant-data';
import { bench } from '../harness/bench';
import { cpuMs, ownCpu } from '../harness/cpu';
import { count, number } from '../harness/options';
import { usedMemory } from '../harness/redis-info';
import { startStores } from '../harness/stores';

type Case = 'new writes' | 'random writes' | 'random reads' | 'both';

interface Row {
  readonly storage: string;
  readonly case: Case;
  readonly opsPerSecond: number;
  /** CPU per operation, in us: of the clients, and of Valkey or the stand-in for AWS. */
  readonly clientUs: number;
  readonly storeUs: number;
  /** Bytes of an item of 100 samples after the new writes. */
  readonly bytesPerItem: number;
}

/** One minute of a host's 100 series, which a client writes or reads. */
interface Item {
  readonly host: Host;
  readonly minute: number;
}

interface Host extends Place {
  /** For each series of the layout, the values of a day, one per minute. */
  readonly columns: readonly (readonly number[])[];
  readonly phase: number;
}

interface Storage {
  readonly name: string;
  write(item: Item, frame: Frame): Promise<void>;
  /** Returns a block containing the item. */
  read(item: Item): Promise<Block>;
  /** Returns the number of bytes that everything written takes up. */
  bytes(): Promise<number>;
}

const SETTINGS = parseSettings({});
const WINDOW_MINUTES = SETTINGS.window / MINUTE_MS;
/** Start of a past day, as Unix time in ms. */
const BEGIN_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - 2 * DAY_MS;
const ARCHIVED_HOSTS = 100;
const FIRST_SEQUENCE = 49590338271490256608559692538361571095921575989136588898n;

export const tiers = bench({
  name: 'tiers',
  summary: 'writes and reads of items by 200 clients in each tier',
  description:
    'Measures new writes, random writes, random reads, and random reads and writes together, by 200 clients. An item has 100 ' +
    'samples. Items are stored in memory as frames and as chunks, in DynamoDB, and in the archive.',
  notes:
    "Real: the tiers' classes, Valkey, the SDK's HTTP. Stubbed: DynamoDB and S3 are ministack, which bounds their rates. All share\n" +
    'this machine. The archive is written in whole objects: its new writes are a day of 100 hosts, and it has no random ones.',
  options: {
    clients: count('clients, in one process', 200),
    minutes: count('items that each client first writes for each of its two hosts', 15),
    seconds: number('seconds of each other case', 3),
  },
  run: async ({ clients, minutes, seconds }, harness) => {
    const rows: Row[] = [];
    const add = harness.adder(rows);
    const stores = await startStores(harness);
    const { hot, warm, ...others } = connectTiers(harness, stores, { httpAgent: { maxSockets: clients } });
    const hosts = makeHosts(2 * clients);
    const storesCpuMs = () => cpuMs(stores.hot.pid()) + cpuMs(stores.aws.pid());
    const load = new Load(hosts, minutes, seconds * 1000, storesCpuMs);
    const bytes = () => usedMemory(stores.redis);
    for (const storage of [
      framesInMemory(hot, bytes),
      chunksInMemory(stores.redis, bytes),
      chunksInTable(warm, hosts),
    ]) {
      await stores.redis.flushall();
      for (const { ref } of hosts) await hot.marks.takeOver(ref, await hot.marks.read(ref));
      await load.measure(storage, add);
    }
    await load.measureArchive(others.cold, others.directory, add);
    return rows;
  },
});

/** Creates two hosts per client, so that no two clients write the same window concurrently. */
function makeHosts(count: number): Host[] {
  const data = makeAgentData(1440);
  const byName = new Map(data.map(({ labels, values }) => [labels.__name__!, values]));
  return Array.from({ length: count }, (_, i) => {
    const source = sourceOf.host(`host${i}`);
    const series = data.map(({ labels }) => metricOf(source, labels.__name__!));
    const place = placeOf(tenantIdOf('tiers'), source, series);
    const columns = place.layout.series.map((labels) => byName.get(labelValue(labels, METRIC_NAME)!)!);
    return { ...place, columns, phase: i * 97 };
  });
}

function framesInMemory(hot: HotTier, bytes: () => Promise<number>): Storage {
  return {
    name: 'memory, frames',
    write: ({ host, minute }, frame) =>
      hot.appender.append(host.ref, {
        arrivalMs: frame.version.arrivalMs,
        layouts: new Map([[host.layout.id, host.packed]]),
        windows: [{ group: host.group, windowStart: windowOf(minute), frames: [packFrame(frame)] }],
      }),
    read: async ({ host, minute }) => {
      const { idBytes, series } = host.layout;
      const columns = Uint32Array.from(series, (_, column) => column);
      const start = windowOf(minute);
      const { frames } = await hot.reader.windows(host.ref, {
        group: host.group,
        windows: [start],
        picks: [{ layout: idBytes, columns }],
        picksKey: host.layout.id,
      });
      const { picked } = frames[0]!;
      const positions = [{ layout: idBytes, positions: columns }];
      return (
        blockFromPicked(idBytes, series.length, picked, positions)?.block ??
        // The item may have been written several times.
        blockFromFrames(idBytes, series.length, pickedFrames(picked, positions).frames)
      );
    },
    bytes,
  };
}

/** Packs a frame as the ingester does. */
function packFrame({ layout, timestamp, version, values }: Frame): Uint8Array {
  return packSampleFrame(layout, timestamp, encodeVersion(version), values);
}

/** Stores a chunk for each group-window under a key. Each write reads, merges and encodes the chunk again. */
function chunksInMemory(redis: Redis, bytes: () => Promise<number>): Storage {
  const keyOf = ({ host, minute }: Item) => `${host.group}:${windowOf(minute)}`;
  return {
    name: 'memory, chunks',
    write: async (item, frame) => {
      const known = await redis.getBuffer(keyOf(item));
      await redis.set(keyOf(item), Buffer.from(merged(item.host, frame, known ?? undefined)));
    },
    read: async (item) => rowOf((await redis.getBuffer(keyOf(item)))!, item.minute),
    bytes,
  };
}

function chunksInTable(warm: WarmTier, hosts: readonly Host[]): Storage {
  const days = new Set<Day>();
  const stored = async ({ host, minute }: Item) => {
    const start = windowOf(minute);
    const [item] = await warm.window(host.ref, dayOf(start), host.group, start);
    return item;
  };
  return {
    name: 'DynamoDB',
    write: async (item, frame) => {
      const { host, minute } = item;
      const [known, start] = [await stored(item), windowOf(minute)];
      const chunk = merged(host, frame, known?.chunk);
      const place = { group: host.group, windowStart: start, layer: 0, startMs: start };
      days.add(dayOf(start));
      const isFirst = await warm.put(
        host.ref,
        dayOf(start),
        { ...place, chunk, revision: revisionOf(chunk) },
        known?.revision,
      );
      if (!isFirst) throw new Error('another client wrote the window');
    },
    read: async (item) => rowOf((await stored(item))!.chunk, item.minute),
    bytes: async () => {
      const refs = [...new Map(hosts.map(({ ref }) => [ref.partition, ref])).values()];
      const sizes = await Promise.all(refs.flatMap((ref) => [...days].map((day) => warm.bytes(ref, day))));
      return sizes.reduce((sum, bytes) => sum + bytes, 0);
    },
  };
}

function merged({ layout }: Host, frame: Frame, known: Uint8Array | undefined): Uint8Array {
  const row = gather(layout, [layout], [frame]);
  return encodeChunk(known === undefined ? row : mergeBlocks(row, openChunk(known).block()));
}

function rowOf(chunk: Uint8Array, minute: number): Block {
  const { fromMs, toMs } = rangeOf(minute);
  return sliceBlock(openChunk(chunk).block(), fromMs, toMs);
}

function windowOf(minute: number): number {
  return BEGIN_MS + Math.floor(minute / WINDOW_MINUTES) * SETTINGS.window;
}

function rangeOf(minute: number): TimeRange {
  return { fromMs: BEGIN_MS + minute * MINUTE_MS, toMs: BEGIN_MS + (minute + 1) * MINUTE_MS };
}

class Load {
  private writes = 0n;
  /**
   * For each client, the host that it writes to at random. It reads from its other host, whose windows do not change.
   */
  private readonly written: readonly Host[];
  private readonly read: readonly Host[];

  constructor(
    private readonly hosts: readonly Host[],
    /** Number of minutes that each host has at the start. */
    private readonly minutes: number,
    private readonly forMs: number,
    /** Returns the CPU used by the stores, in ms. */
    private readonly storesMs: () => number,
  ) {
    this.written = hosts.slice(0, hosts.length / 2);
    this.read = hosts.slice(hosts.length / 2);
  }

  async measure(storage: Storage, add: (row: Row) => void): Promise<void> {
    const emptyBytes = await storage.bytes();
    const write = (item: Item) => storage.write(item, this.frame(item));
    const read = async (item: Item) => {
      const { timestamps } = await storage.read(item);
      if (timestamps.length === 0) throw new Error(`${storage.name} lacks minute ${item.minute} of a host`);
    };
    const items = this.hosts.length * this.minutes;
    const written = await this.metered(async () => {
      const each = async (own: Host, client: number) => {
        for (const host of [own, this.read[client]!])
          for (let minute = 0; minute < this.minutes; minute++) await write({ host, minute });
      };
      await Promise.all(this.written.map(each));
      return items;
    });
    const row = { storage: storage.name, bytesPerItem: ((await storage.bytes()) - emptyBytes) / items };
    add({ ...row, case: 'new writes', ...written });
    const cases: [Case, (client: number, nth: number) => Promise<void>][] = [
      ['random writes', (client) => write(this.anyItem(this.written[client]!))],
      ['random reads', (client) => read(this.anyItem(this.read[client]!))],
      [
        'both',
        (client, nth) =>
          nth % 2 === 0 ? write(this.anyItem(this.written[client]!)) : read(this.anyItem(this.read[client]!)),
      ],
    ];
    for (const [name, op] of cases) add({ ...row, case: name, ...(await this.run(op)) });
  }

  /** Measures a day of some hosts, written as one object as the archiver would. */
  async measureArchive(cold: ColdTier, directory: ArchiveDirectory, add: (row: Row) => void): Promise<void> {
    const day = dayOf(BEGIN_MS);
    const minutes = DAY_MS / MINUTE_MS;
    const hosts = this.hosts.slice(0, ARCHIVED_HOSTS).sort((a, b) => (a.group < b.group ? -1 : 1));
    const blocks = hosts.map((host) => {
      const frames = Array.from({ length: minutes }, (_, minute) => this.frame({ host, minute }));
      return { host, block: gather(host.layout, [host.layout], frames) };
    });
    const [{ ref }] = hosts as [Host];
    const items = hosts.length * minutes;
    let bytes = 0;
    const written = await this.metered(async () => {
      const upload = cold.begin(cold.newKey(ref, day, 1));
      for (const { host, block } of blocks)
        await upload.writer.addGroup(host.group, [{ block, layout: host.layout }]);
      const object = await upload.finish(new Map());
      await directory.put(ref.tenantId, day, object);
      bytes = object.bytes;
      return items;
    });
    const row = { storage: 'archive', bytesPerItem: bytes / items };
    add({ ...row, case: 'new writes', ...written });
    const read = await this.run(async () => {
      const { sourceId, group, layout } = hosts[Math.floor(Math.random() * hosts.length)]!;
      const listed = (await directory.of(ref.tenantId, sourceId, day, day)).get(day)!;
      const range = rangeOf(Math.floor(Math.random() * minutes));
      const selection = { wanted: layout, groups: [group], range, layouts: new Map([[layout.id, layout]]) };
      const found = await cold.readListed(
        listed,
        selection,
        () => false,
        (work) => work(),
      );
      if (found.length !== 1) throw new Error(`the archive has ${found.length} blocks of an item`);
    });
    add({ ...row, case: 'random reads', ...read });
  }

  private anyItem(host: Host): Item {
    return { host, minute: Math.floor(Math.random() * this.minutes) };
  }

  /** Runs operations on all clients at the same time; each client runs one at a time. */
  private run(op: (client: number, nth: number) => Promise<void>) {
    return this.metered(async () => {
      const untilMs = performance.now() + this.forMs;
      let ops = 0;
      const client = async (_: unknown, number: number) => {
        for (let nth = 0; performance.now() < untilMs; nth++) {
          await op(number, nth);
          ops++;
        }
      };
      await Promise.all(this.written.map(client));
      return ops;
    });
  }

  /**
   * Measures the rate of operations, and the CPU time per operation of this process and of the stores.
   *
   * @param work returns the number of operations that it has done
   */
  private async metered(work: () => Promise<number>) {
    const [beganMs, cpu, storesMs] = [performance.now(), ownCpu(), this.storesMs()];
    const ops = await work();
    return {
      opsPerSecond: (ops * 1000) / (performance.now() - beganMs),
      clientUs: (1000 * cpu()) / ops,
      storeUs: ((this.storesMs() - storesMs) * 1000) / ops,
    };
  }

  /** Returns the item's frame, with a higher version than all before. */
  private frame({ host: { layout, columns, phase }, minute }: Item): Frame {
    const values = Float64Array.from(columns, (column) => column[(minute + phase) % column.length]!);
    const timestamp = BEGIN_MS + minute * MINUTE_MS;
    return {
      layout: layout.idBytes,
      timestamp,
      version: { arrivalMs: timestamp + 700, sequence: FIRST_SEQUENCE + this.writes++ * 2n ** 20n },
      values: new Uint8Array(values.buffer),
    };
  }
}
