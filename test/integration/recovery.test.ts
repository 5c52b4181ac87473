import { rmSync } from 'node:fs';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Redis } from 'ioredis';
import { localAws } from '../../scripts/local/provision';
import { startHotServer } from '../../scripts/local/servers';
import { HotKeys } from '../../shared/hot/hot-keys';
import type { HotTier } from '../../shared/hot/hot-tier';
import type { PrimaryState } from '../../shared/hot/topology';
import { type PartitionRef, tenantIdOf } from '../../shared/model/placement';
import { LossWatch } from '../../shared/recovery/loss-watch';
import { type Loss, RecoveryTable } from '../../shared/recovery/recovery-table';
import { type AdvanceDependencies, advance, stop } from '../../shared/recovery/replay';
import { ReplayConsumer } from '../../shared/recovery/replay-consumer';
import type { Shard } from '../../shared/recovery/replay-plan';
import { encodeHeartbeat } from '../../shared/stream/heartbeat';
import type { DeliveredRecord } from '../../shared/stream/record-decoder';
import { temporaryDir } from '../support/temporary-dir';
import { startTiers, type Tiers } from '../support/tiers';
import { until } from '../support/until';

/** A call of a step failed. */
class CutOff extends Error {}

/** A stream of two shards, and the replayer's mapping: AWS allows one at a time, and deleting it takes a while. */
class World {
  readonly records: DeliveredRecord[] = [];
  readonly appended: DeliveredRecord[] = [];
  private mapping: { uuid: string; next: number; lookups: number; isDeleting: boolean } | undefined;
  private made = 0;
  private clock = 1_000;
  /** Number of the call at which the step is cut off. */
  cutIn = Infinity;
  shardIds = ['shard-0', 'shard-1'];

  constructor(private readonly reader: ReplayConsumer) {}

  private call(): void {
    if (--this.cutIn === 0) throw new CutOff();
  }

  put(shardId: string, data: Buffer): void {
    const n = this.records.length;
    this.records.push({ shardId, data, arrivalMs: ++this.clock, sequenceNumber: String(n) });
  }

  async shards(): Promise<Shard[]> {
    this.call();
    return this.shardIds.map((id) => ({ id, parents: [], isOpen: true, hashKey: '0' }));
  }

  async beat(shards: readonly Shard[], replay: string): Promise<void> {
    this.call();
    for (const { id } of shards) this.put(id, encodeHeartbeat(replay));
  }

  async list(): Promise<string[]> {
    this.call();
    if (this.mapping?.isDeleting && ++this.mapping.lookups > 2) this.mapping = undefined;
    return this.mapping === undefined ? [] : [this.mapping.uuid];
  }

  async create(fromMs: number): Promise<string> {
    this.call();
    if (this.mapping !== undefined) throw new Error('a mapping of this stream and function exists');
    const first = this.records.findIndex(({ arrivalMs }) => arrivalMs >= fromMs);
    const uuid = `mapping-${++this.made}`;
    this.mapping = {
      uuid,
      next: first < 0 ? this.records.length : first,
      lookups: 0,
      isDeleting: false,
    };
    // The call may be cut off after it created the mapping, before it returns the UUID.
    this.call();
    return uuid;
  }

  async delete(uuid: string): Promise<void> {
    this.call();
    if (this.mapping?.uuid === uuid) this.mapping.isDeleting = true;
  }

  get hasMapping(): boolean {
    return this.mapping !== undefined;
  }

  /** Lets the mapping deliver up to `most` records, one by one. */
  async deliver(most: number): Promise<void> {
    for (let i = 0; i < most && this.mapping !== undefined && !this.mapping.isDeleting; i++) {
      const record = this.records[this.mapping.next];
      if (record === undefined) return;
      this.mapping.next++;
      await this.reader.read([record], async (batch) => {
        this.appended.push(...batch);
        return [];
      });
    }
  }
}

describe('recovery', () => {
  let tiers: Tiers;

  beforeAll(async () => {
    tiers = await startTiers();
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  const dependenciesOf = (world: World): AdvanceDependencies => ({
    table: tiers.recovery,
    stream: world,
    mappings: world,
    now: Date.now,
    redriveLost: async () => true,
    keepGaps: async () => {},
  });

  const settled = async (dependencies: AdvanceDependencies, world: World) => {
    for (let steps = 0; steps < 60; steps++) {
      world.put(`shard-${steps % 2}`, Buffer.from('live'));
      await world.deliver(5);
      try {
        const { loss, replay } = await advance(dependencies);
        if (!loss?.isOpen && replay?.state !== 'running' && !world.hasMapping) return;
      } catch (error) {
        if (!(error instanceof CutOff)) throw error;
      }
    }
    throw new Error('recovery does not end');
  };

  test('replays everything that arrived between the loss and its notice, wherever a step is cut off', async () => {
    for (let cut = 1; cut <= 24; cut++) {
      const world = new World(new ReplayConsumer(tiers.recovery, Date.now));
      const dependencies = dependenciesOf(world);
      for (let n = 0; n < 20; n++) world.put(`shard-${n % 2}`, Buffer.from('lost'));
      const fromMs = world.records[5]!.arrivalMs;
      const { id } = await tiers.recovery.notice(fromMs, 'a test', Date.now());
      const before = world.records.length;
      world.cutIn = cut;
      await settled(dependencies, world);
      const appended = new Set(world.appended.map(({ sequenceNumber }) => sequenceNumber));
      const lost = world.records.slice(0, before).filter((r) => r.arrivalMs >= fromMs);
      expect(lost.filter(({ sequenceNumber }) => !appended.has(sequenceNumber))).toEqual([]);
      expect(await tiers.recovery.loss()).toMatchObject({ id, isOpen: false });
    }
  });

  test('starts over from where the running replay began if a loss is noticed during it', async () => {
    const world = new World(new ReplayConsumer(tiers.recovery, Date.now));
    const dependencies = dependenciesOf(world);
    for (let n = 0; n < 40; n++) world.put(`shard-${n % 2}`, Buffer.from('lost'));
    const fromMs = world.records[10]!.arrivalMs;
    await tiers.recovery.notice(fromMs, 'the first', Date.now());
    while (!world.hasMapping) await advance(dependencies);
    await world.deliver(10);
    const first = (await tiers.recovery.replay())!;
    await tiers.recovery.notice(world.records[30]!.arrivalMs, 'the second', Date.now());
    world.appended.length = 0;
    await settled(dependencies, world);
    const last = (await tiers.recovery.replay())!;
    expect(last.id).not.toBe(first.id);
    expect(last.state).toBe('done');
    expect(last.fromMs).toBeLessThanOrEqual(fromMs);
    const sequences = new Set(world.appended.map(({ sequenceNumber }) => Number(sequenceNumber)));
    for (let n = 10; n < 40; n++) expect(sequences).toContain(n);
  });

  test('keeps a loss open until what was redriven has been ingested again', async () => {
    const world = new World(new ReplayConsumer(tiers.recovery, Date.now));
    let calls = 0;
    const dependencies = {
      ...dependenciesOf(world),
      redriveLost: async () => {
        expect(await tiers.recovery.loss()).toMatchObject({ isOpen: true });
        return ++calls === 3;
      },
    };
    for (let n = 0; n < 20; n++) world.put(`shard-${n % 2}`, Buffer.from('lost'));
    await tiers.recovery.notice(world.records[0]!.arrivalMs, 'a test', Date.now());
    await settled(dependencies, world);
    expect(calls).toBe(3);
    expect(await tiers.recovery.loss()).toMatchObject({ isOpen: false });
  });

  test('creates the mapping again if it is gone', async () => {
    const world = new World(new ReplayConsumer(tiers.recovery, Date.now));
    const dependencies = dependenciesOf(world);
    for (let n = 0; n < 20; n++) world.put(`shard-${n % 2}`, Buffer.from('lost'));
    await tiers.recovery.notice(world.records[0]!.arrivalMs, 'a test', Date.now());
    while (!world.hasMapping) await advance(dependencies);
    await world.deliver(3);
    for (const uuid of await world.list()) await world.delete(uuid);
    await settled(dependencies, world);
    const sequences = new Set(world.appended.map(({ sequenceNumber }) => Number(sequenceNumber)));
    for (let n = 0; n < 20; n++) expect(sequences).toContain(n);
  });

  test('starts over too if the replay has just ended: the loss took what it appended', async () => {
    const world = new World(new ReplayConsumer(tiers.recovery, Date.now));
    const dependencies = dependenciesOf(world);
    for (let n = 0; n < 10; n++) world.put(`shard-${n % 2}`, Buffer.from('lost'));
    await tiers.recovery.notice(world.records[2]!.arrivalMs, 'the first', Date.now());
    await settled(dependencies, world);
    await tiers.recovery.notice(world.records[8]!.arrivalMs, 'the second', Date.now());
    await settled(dependencies, world);
    expect((await tiers.recovery.replay())!.fromMs).toBeLessThanOrEqual(world.records[2]!.arrivalMs);
  });

  test('joins a running replay that covers the range asked for, widens one that does not, and stops on demand', async () => {
    const world = new World(new ReplayConsumer(tiers.recovery, Date.now));
    const dependencies = dependenciesOf(world);
    for (let n = 0; n < 20; n++) world.put(`shard-${n % 2}`, Buffer.from('x'));
    const at = (n: number) => world.records[n]!.arrivalMs;
    const ask = async (fromMs: number, toMs: number) => {
      for (;;) {
        const { replay } = await advance(dependencies, { fromMs, toMs });
        if (replay?.state === 'running' && replay.mapping !== undefined && replay.fromMs <= fromMs)
          return replay;
      }
    };
    const first = await ask(at(4), at(9));
    expect((await ask(at(5), at(8))).id).toBe(first.id);
    const wider = await ask(at(2), at(7));
    expect(wider).toMatchObject({ fromMs: at(2), toMs: at(9) });
    const { replay } = await stop(dependencies, false);
    expect(replay).toMatchObject({ id: wider.id, state: 'stopped' });
    await settled(dependencies, world);
    expect(world.hasMapping).toBe(false);

    world.appended.length = 0;
    await ask(at(2), at(7));
    await settled(dependencies, world);
    expect(world.appended.map(({ sequenceNumber }) => Number(sequenceNumber))).toEqual([2, 3, 4, 5, 6]);
  });

  test('a step that asks for a range names its replay as running, even if the replay has read everything', async () => {
    const world = new World(new ReplayConsumer(tiers.recovery, Date.now));
    const dependencies = dependenciesOf(world);
    for (let n = 0; n < 4; n++) world.put(`shard-${n % 2}`, Buffer.from('x'));
    // The replayer is faster than the rest of the step.
    const keepGaps = () => world.deliver(100);
    const asked = await advance({ ...dependencies, keepGaps }, { fromMs: 0, toMs: Infinity });
    expect(asked.replay!.state).toBe('running');
    expect(asked.shards.map(({ isPassed }) => isPassed)).toEqual([true, true]);
    const { replay } = await advance(dependencies);
    expect(replay).toMatchObject({ id: asked.replay!.id, state: 'done' });
  });

  test('a registered partition without a mark is a loss; an unregistered one is new', async () => {
    const tenantId = tenantIdOf('recovery');
    const known = { tenantId, partition: 1 };
    const before = await tiers.recovery.loss();
    await tiers.losses.resolve(known);
    expect(await tiers.losses.missingSince(known, await tiers.hot.marks.read(known))).toBeUndefined();
    expect(await tiers.recovery.loss()).toEqual(before);
    const fresh = { tenantId, partition: 2 };
    expect(await tiers.losses.missingSince(fresh, await tiers.hot.marks.read(fresh))).toBeUndefined();
    await tiers.redis.flushall();
    expect(await tiers.losses.missingSince(known, await tiers.hot.marks.read(known))).toBe(0);
    await tiers.losses.resolve(known);
    const loss = (await tiers.recovery.loss())!;
    expect(loss.isOpen).toBe(true);
    // The loss was noticed once. The mark names it, and appends continue.
    await tiers.losses.resolve(known);
    expect(await tiers.recovery.loss()).toEqual(loss);
    expect(await tiers.hot.marks.read(known)).toMatchObject({ state: 'good', loss: loss.id });
    expect(await tiers.losses.missingSince(known, await tiers.hot.marks.read(known))).toBeDefined();
    await tiers.recovery.closeLoss((await tiers.recovery.loss())!);
    expect(await tiers.losses.missingSince(known, await tiers.hot.marks.read(known))).toBeUndefined();
  });

  test('an instance that stalled when it registered a partition does not hide a loss that another one recorded', async () => {
    const ref = { tenantId: tenantIdOf('recovery'), partition: 5 };
    let other: Loss | undefined;
    class Stalling extends RecoveryTable {
      override async register(each: PartitionRef): Promise<boolean> {
        const isNew = await super.register(each);
        await tiers.losses.resolve(each);
        other = await tiers.recovery.loss();
        return isNew;
      }
    }
    const dependencies = { hot: tiers.hot, table: new Stalling(tiers.meta), lanes: 1, now: Date.now };
    await new LossWatch(dependencies).resolve(ref);
    expect(other).toMatchObject({ isOpen: true });
    expect(await tiers.hot.marks.read(ref)).toMatchObject({ state: 'good', loss: other!.id });
    expect(await tiers.recovery.loss()).toEqual(other);
  });

  test('an instance that stalled when it recorded a loss does not hide a later one', async () => {
    const ref = { tenantId: tenantIdOf('recovery'), partition: 7 };
    await tiers.losses.resolve(ref);
    await tiers.redis.flushall();
    class Stalling extends RecoveryTable {
      override async notice(...args: Parameters<RecoveryTable['notice']>): Promise<Loss> {
        const loss = await super.notice(...args);
        // While a replay repairs the loss, an empty primary takes over.
        await this.closeLoss(loss);
        await tiers.redis.replicaof('127.0.0.1', 1);
        await tiers.redis.replicaof('NO', 'ONE');
        await tiers.redis.flushall();
        return loss;
      }
    }
    const dependencies = { hot: tiers.hot, table: new Stalling(tiers.meta), lanes: 1, now: Date.now };
    await new LossWatch(dependencies).resolve(ref);
    const first = await tiers.recovery.loss();
    expect(await tiers.losses.missingSince(ref, await tiers.hot.marks.read(ref))).toBe(0);
    await tiers.losses.resolve(ref);
    const later = (await tiers.recovery.loss())!;
    expect(later.isOpen).toBe(true);
    expect(later.id).not.toBe(first!.id);
  });

  test('the first mark of a partition is written only on the primary that was found without one', async () => {
    const ref = { tenantId: tenantIdOf('recovery'), partition: 6 };
    const { here } = await tiers.hot.marks.read(ref);
    expect(await tiers.hot.marks.takeOver(ref, { stamp: '', here: 'a former one' })).toBe(false);
    expect(await tiers.hot.marks.read(ref)).toMatchObject({ state: 'absent' });
    expect(await tiers.hot.marks.takeOver(ref, { stamp: '', here }, 7)).toBe(true);
    expect(await tiers.hot.marks.read(ref)).toMatchObject({ state: 'good', loss: '' });
    expect(await tiers.redis.hget(new HotKeys(ref).mark, 'era')).toBe('7');
  });

  test('a primary has another id when its first replica attaches, and has lost nothing', async () => {
    const ref = { tenantId: tenantIdOf('recovery'), partition: 3 };
    const before = (await tiers.losses.lookAndRecord()).topology.text;
    await tiers.losses.resolve(ref);
    const dir = temporaryDir();
    const server = await startHotServer(
      dir,
      () => {},
      () => {},
    );
    const replica = new Redis(server.port);
    try {
      await replica.replicaof('127.0.0.1', tiers.redis.options.port!);
      await until(
        'another id',
        () => tiers.hot.nodes.topology(),
        ({ text }) => text !== before,
      );
      const mark = await tiers.hot.marks.read(ref);
      expect(mark.state).toBe('bad');
      expect(await tiers.losses.missingSince(ref, mark)).toBeUndefined();
      const loss = await tiers.recovery.loss();
      await tiers.losses.resolve(ref);
      expect((await tiers.hot.marks.read(ref)).state).toBe('good');
      expect(await tiers.recovery.loss()).toEqual(loss);
    } finally {
      replica.disconnect();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test('a primary that failed while slots moved is a loss of every partition', async () => {
    const ref = { tenantId: tenantIdOf('recovery'), partition: 4 };
    await tiers.losses.resolve(ref);
    const topology = await tiers.hot.nodes.topology();
    const [{ id, ...primary }] = topology.primaries as [PrimaryState];
    const primaries = [{ ...primary, id: 'another', run: 'another', previous: id, isOpen: true }];
    const nodes = Object.assign(Object.create(tiers.hot.nodes), {
      topology: async () => ({ ...topology, primaries }),
    });
    const hot: HotTier = Object.assign(Object.create(tiers.hot), { nodes });
    await new LossWatch({ hot, table: tiers.recovery, lanes: 1, now: Date.now }).lookAndRecord();
    const loss = await tiers.recovery.loss();
    expect(loss).toMatchObject({ isOpen: true });
    expect(await tiers.hot.marks.read(ref)).toMatchObject({ loss: loss!.id });
  });

  test('a conditional write of recovery takes effect once, even if its first answer is lost', async () => {
    const client = new DynamoDBClient(localAws(tiers.awsPort));
    // Send each request twice, as the SDK does after a lost response.
    client.middlewareStack.add(
      (next) => async (args) => {
        await next(args);
        return next(args);
      },
      { step: 'finalizeRequest' },
    );
    const table = new RecoveryTable({ client, name: tiers.meta.name });
    const ref = { tenantId: tenantIdOf('recovery'), partition: 9 };
    try {
      expect(await table.register(ref)).toBe(true);
      expect(await table.register(ref)).toBe(false);
      const before = await table.era();
      const era = { number: (before?.number ?? 0) + 1, primaries: [] };
      expect(await table.putEra(era, before)).toBe(true);
      expect(await table.putEra({ ...era, number: 0 }, before)).toBe(false);
      const notices = (await table.loss())?.notices ?? 0;
      expect(await table.notice(0, 'a test', Date.now())).toMatchObject({ notices: notices + 1 });
      if (before !== undefined) await table.putEra(before, era);
    } finally {
      client.destroy();
      await tiers.recovery.unregister(ref);
    }
  });
});
