import fc from 'fast-check';
import { kinesisEvent } from '../../../scripts/local/batches';
import {
  lostObjects,
  MalformedRedriveObjectError,
  planRedrive,
  type RedriveDependencies,
  recordsInObject,
  redrive,
  redriveLost,
} from '../../../shared/recovery/redrive';
import type { RedriveEntry } from '../../../shared/recovery/redrive-ledger';
import type { DeliveredRecord } from '../../../shared/stream/record-decoder';

class CutOff extends Error {
  override readonly message = 'cut off';
}

/**
 * A bucket, an ingester and a memory that loses or flushes its samples. A call may be cut off. Time is
 * counted in watermarks.
 */
class World {
  readonly objects = new Map<string, { body: Buffer; metadata: Record<string, string> }>();
  readonly ingested: DeliveredRecord[] = [];
  readonly poison = new Set<string>();
  refused: string | undefined;
  /** Whether the refusing store is down. */
  isDown = false;
  reason = 'ValidationException';
  cutIn = Infinity;
  watermarkMs = 1;
  flushedUntilMs = 0;
  notices = 0;
  readonly memory = new Set<string>();
  readonly warm = new Set<string>();
  readonly entries = new Map<string, RedriveEntry>();

  private call(): void {
    if (--this.cutIn === 0) throw new CutOff();
  }

  async list(prefix: string, after: string | undefined, most: number) {
    this.call();
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > (after ?? ''))
      .sort();
    // S3 may return fewer keys than requested.
    const page = keys.slice(0, Math.min(most, 40));
    const objects = page.map((key) => ({ key, bytes: this.objects.get(key)!.body.length, modifiedMs: 0 }));
    return { objects, hasMore: page.length < keys.length };
  }

  async read(key: string) {
    this.call();
    return this.objects.get(key);
  }

  async delete(key: string) {
    this.call();
    this.objects.delete(key);
    this.call();
  }

  readonly ledger: RedriveDependencies['ledger'] = {
    entries: async () => {
      this.call();
      return new Map(this.entries);
    },
    put: async (key, entry) => {
      this.call();
      this.entries.set(key, entry);
      this.call();
    },
    delete: async (key) => {
      this.call();
      this.entries.delete(key);
      this.call();
    },
    progress: async () => {
      this.call();
      const { flushedUntilMs, watermarkMs, notices } = this;
      return { flushedUntilMs, watermarkMs, notices };
    },
  };

  /**
   * Advances the watermark, as live records do. With `flushes`, everything in memory reaches the warm tier.
   */
  pass(flushes: boolean): void {
    this.watermarkMs += 60_001;
    if (!flushes) return;
    for (const record of this.memory) this.warm.add(record);
    this.memory.clear();
    this.flushedUntilMs = this.watermarkMs;
  }

  loseMemory(): void {
    this.memory.clear();
    this.notices++;
  }

  dependencies(hasTime = () => true): RedriveDependencies {
    return {
      store: this,
      hasTime,
      ledger: this.ledger,
      ingest: async (records) => {
        this.call();
        const failed = records.map((r) => r.sequenceNumber).filter((n) => n === this.refused);
        const appended = records.filter((r) => r.sequenceNumber !== this.refused);
        this.ingested.push(...appended);
        for (const { sequenceNumber } of appended)
          if (!this.poison.has(sequenceNumber)) this.memory.add(sequenceNumber);
        this.call();
        return {
          failed,
          isDown: this.isDown,
          reason: this.reason,
          quarantined: records.map((r) => r.sequenceNumber).filter((n) => this.poison.has(n)),
        };
      },
    };
  }

  quarantine(sequenceNumber: number, data = `record ${sequenceNumber}`): void {
    this.objects.set(`quarantine/shard-0/${sequenceNumber}`, {
      body: Buffer.from(data),
      metadata: { arrival: String(1_000 + sequenceNumber) },
    });
  }

  giveUp(name: string, records: readonly { sequenceNumber: string; data: Buffer }[]): void {
    const all = records.map((record) => ({ ...record, partitionKey: 'k', arrivalMs: 1_795_212_120_123 }));
    const payload = JSON.stringify(kinesisEvent(all, 'shard-0', 'arn'));
    this.objects.set(`aws/lambda/${name}`, { body: Buffer.from(JSON.stringify({ payload })), metadata: {} });
  }
}

const QUARANTINE = 'quarantine/';
const DEAD_LETTERS = 'aws/lambda/';

describe('planRedrive', () => {
  const entry = { appended: { watermarkMs: 500, notices: 2 } };
  test.each([
    { name: 'never driven', entry: undefined, flushedUntilMs: 0, notices: 2, plan: 'drive' },
    {
      name: 'begun, but perhaps not ended',
      entry: { appended: undefined },
      flushedUntilMs: 60_501,
      notices: 0,
      plan: 'drive',
    },
    { name: 'in memory', entry, flushedUntilMs: 400, notices: 2, plan: 'wait' },
    {
      name: 'perhaps in memory: the flusher may have begun before',
      entry,
      flushedUntilMs: 500,
      notices: 2,
      plan: 'wait',
    },
    {
      name: 'perhaps in memory: the flusher may have begun before, and arrival times gone back since',
      entry,
      flushedUntilMs: 60_500,
      notices: 2,
      plan: 'wait',
    },
    { name: 'in the warm tier', entry, flushedUntilMs: 60_501, notices: 2, plan: 'remove' },
    {
      name: 'lost, or perhaps: a loss was noticed since',
      entry,
      flushedUntilMs: 60_501,
      notices: 3,
      plan: 'drive',
    },
    { name: 'unknown: no flusher has written', entry, flushedUntilMs: 0, notices: 2, plan: 'wait' },
  ])('$name: $plan', ({ entry, plan, ...progress }) => {
    expect(planRedrive(entry, progress)).toBe(plan);
  });
});

describe('redrive', () => {
  test('ingests records with their shard, sequence number, arrival and bytes, and removes them once memory has flushed them', async () => {
    const world = new World();
    world.quarantine(7);
    const data = Buffer.from([0, 255, 1, 254]);
    world.giveUp('a', [{ sequenceNumber: '49590338271490256608559692538361571095921575989136588898', data }]);
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({
      records: 1,
      waiting: 1,
      next: undefined,
    });
    expect(await redrive(world.dependencies(), DEAD_LETTERS)).toMatchObject({ records: 1, waiting: 1 });
    expect(world.ingested).toEqual([
      { shardId: 'shard-0', sequenceNumber: '7', arrivalMs: 1_007, data: Buffer.from('record 7') },
      {
        shardId: 'shard-0',
        sequenceNumber: '49590338271490256608559692538361571095921575989136588898',
        arrivalMs: 1_795_212_120_123,
        data,
      },
    ]);
    world.pass(false);
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({
      records: 0,
      waiting: 1,
      removed: 0,
    });
    expect(world.objects.size).toBe(2);
    world.pass(true);
    expect(await redrive(world.dependencies(), DEAD_LETTERS)).toMatchObject({
      records: 0,
      waiting: 0,
      removed: 2,
    });
    expect(world.objects.size).toBe(0);
    expect(world.entries.size).toBe(0);
  });

  test('drives again what a loss may have taken from memory', async () => {
    const world = new World();
    world.quarantine(7);
    await redrive(world.dependencies(), QUARANTINE);
    world.loseMemory();
    world.pass(true);
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({
      records: 1,
      waiting: 1,
      removed: 0,
    });
    world.pass(true);
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({ removed: 1 });
    expect(world.warm).toEqual(new Set(['7']));
  });

  test('of what a loss may have taken brings it back to memory, and drives nothing else', async () => {
    const world = new World();
    for (const n of [1, 2, 3, 4]) world.quarantine(n);
    await redrive(world.dependencies(), QUARANTINE);
    world.giveUp('a', [{ sequenceNumber: '5', data: Buffer.from('x') }]);
    await redrive(world.dependencies(), DEAD_LETTERS);
    expect(await redriveLost(world.dependencies())).toBe(true);
    expect(world.ingested).toHaveLength(5);

    world.loseMemory();
    world.quarantine(6);
    world.poison.add('2');
    world.refused = '3';
    world.objects.delete('quarantine/shard-0/4');
    await expect(redriveLost(world.dependencies())).rejects.toThrow(
      '1 objects were not redriven; quarantine/shard-0/3: a store refused 1 of 1 records: ValidationException',
    );
    expect(world.memory).toEqual(new Set(['1', '5']));
    world.refused = undefined;
    expect(await redriveLost(world.dependencies(() => false))).toBe(false);
    expect(await redriveLost(world.dependencies())).toBe(true);
    expect(world.memory).toEqual(new Set(['1', '3', '5']));
    // Once memory is flushed, the objects go. The poison stays, and so does what nobody has redriven.
    world.pass(true);
    await redrive(world.dependencies(), DEAD_LETTERS);
    expect([...world.objects.keys()]).toEqual(['quarantine/shard-0/2', 'quarantine/shard-0/6']);
  });

  test('of what a loss may have taken goes on past an object that a store does not answer for, and names it', async () => {
    const world = new World();
    for (const n of [1, 2, 3]) world.quarantine(n);
    await redrive(world.dependencies(), QUARANTINE);
    world.loseMemory();
    world.read = async (key) => {
      if (key.endsWith('/1')) throw new Error('no answer');
      return world.objects.get(key);
    };
    const { ingest, ...rest } = world.dependencies();
    const unanswering = {
      ...rest,
      ingest: async (records: readonly DeliveredRecord[]) => {
        if (records[0]!.sequenceNumber === '2') throw new Error('no answer either');
        return ingest(records);
      },
    };
    await expect(redriveLost(unanswering)).rejects.toThrow(
      '2 objects were not redriven; quarantine/shard-0/1: no answer',
    );
    expect(world.memory).toEqual(new Set(['3']));
    let left = 1;
    await expect(redriveLost({ ...unanswering, hasTime: () => left-- > 0 })).rejects.toThrow(
      '1 objects were not redriven; quarantine/shard-0/1: no answer',
    );
  });

  test('of what a loss may have taken gives up an object that was refused in 15 steps; the next redrive tries it again', async () => {
    const world = new World();
    for (const n of [1, 2]) world.quarantine(n);
    await redrive(world.dependencies(), QUARANTINE);
    world.loseMemory();
    world.refused = '1';
    for (let steps = 0; steps < 15; steps++)
      await expect(redriveLost(world.dependencies())).rejects.toThrow(
        'quarantine/shard-0/1: a store refused',
      );
    expect(await redriveLost(world.dependencies())).toBe(true);
    expect(world.memory).toEqual(new Set(['2']));
    world.pass(true);
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({ removed: 1, failed: 1 });

    world.refused = undefined;
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({ records: 1, waiting: 1 });
    world.loseMemory();
    expect(await redriveLost(world.dependencies())).toBe(true);
    expect(world.memory).toEqual(new Set(['1']));
  });

  test('of what a loss may have taken never gives up an object that a store does not answer for', async () => {
    const world = new World();
    world.quarantine(1);
    await redrive(world.dependencies(), QUARANTINE);
    world.loseMemory();
    const { read } = world;
    world.read = () => Promise.reject(new Error('no answer'));
    for (let steps = 0; steps < 20; steps++)
      await expect(redriveLost(world.dependencies())).rejects.toThrow('no answer');
    world.read = read;
    [world.refused, world.isDown, world.reason] = ['1', true, 'Command timed out'];
    for (let steps = 0; steps < 20; steps++)
      await expect(redriveLost(world.dependencies())).rejects.toThrow(
        'for 1 of 1 records: Command timed out',
      );
    expect(await lostObjects(world.dependencies())).toEqual(['quarantine/shard-0/1']);
    // An operator gives the samples up.
    world.objects.clear();
    expect(await redriveLost(world.dependencies())).toBe(true);
    expect(await lostObjects(world.dependencies())).toEqual([]);
  });

  test('of what a loss may have taken includes an object whose redrive was cut off', async () => {
    for (let cutIn = 1; ; cutIn++) {
      const world = new World();
      world.quarantine(1);
      world.cutIn = cutIn;
      const isCut = await redrive(world.dependencies(), QUARANTINE).then(
        () => false,
        () => true,
      );
      world.cutIn = Infinity;
      const wasAppended = world.memory.size > 0;
      world.loseMemory();
      expect(await redriveLost(world.dependencies())).toBe(true);
      if (wasAppended) expect(world.memory).toEqual(new Set(['1']));
      if (!isCut) break;
    }
  });

  test('remembers nothing of an object that it did not ingest', async () => {
    const world = new World();
    for (const n of [1, 2]) world.quarantine(n);
    world.refused = '1';
    world.poison.add('2');
    await redrive(world.dependencies(), QUARANTINE);
    world.giveUp('a', [{ sequenceNumber: '2', data: Buffer.from('x') }]);
    world.objects.set('aws/lambda/b', { body: Buffer.from('malformed'), metadata: {} });
    await redrive(world.dependencies(), DEAD_LETTERS);
    expect(world.entries.size).toBe(0);
    world.loseMemory();
    expect(await redriveLost(world.dependencies())).toBe(true);
  });

  test('leaves poison in quarantine; a dead letter of poison alone goes, since its records are in quarantine', async () => {
    const world = new World();
    for (const n of [1, 2, 3]) world.quarantine(n);
    world.poison.add('2');
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({
      records: 2,
      poison: 1,
      failed: 0,
    });
    world.pass(true);
    world.giveUp('a', [{ sequenceNumber: '2', data: Buffer.from('x') }]);
    expect(await redrive(world.dependencies(), DEAD_LETTERS)).toMatchObject({
      records: 0,
      poison: 1,
      removed: 3,
    });
    expect([...world.objects.keys()]).toEqual(['quarantine/shard-0/2']);
  });

  test('goes on past an object that a store refuses, and reports it', async () => {
    const world = new World();
    for (const n of [1, 2, 3]) world.quarantine(n);
    world.refused = '2';
    expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({
      records: 2,
      failed: 1,
      errors: ['quarantine/shard-0/2: a store refused 1 of 1 records: ValidationException'],
    });
    world.pass(true);
    await redrive(world.dependencies(), QUARANTINE);
    expect([...world.objects.keys()]).toEqual(['quarantine/shard-0/2']);
  });

  test.each(['Command timed out', 'OOM command not allowed'])(
    'tells a store that is down from a store that refuses, and says why: %s',
    async (reason) => {
      const world = new World();
      for (const n of [1, 2]) world.quarantine(n);
      world.refused = '2';
      [world.isDown, world.reason] = [true, reason];
      expect(await redrive(world.dependencies(), QUARANTINE)).toMatchObject({
        records: 1,
        unanswered: 1,
        failed: 0,
        errors: [`quarantine/shard-0/2: a store is down or full for 1 of 1 records: ${reason}`],
      });
    },
  );

  test('goes on where time ended', async () => {
    const world = new World();
    for (let n = 100; n < 350; n++) world.quarantine(n);
    let left = 120;
    const first = await redrive(
      world.dependencies(() => left-- > 0),
      QUARANTINE,
    );
    expect(first).toMatchObject({ records: 120, next: 'quarantine/shard-0/219' });
    expect(await redrive(world.dependencies(), QUARANTINE, first.next)).toMatchObject({ records: 130 });
    world.pass(true);
    await redrive(world.dependencies(), QUARANTINE);
    expect(world.objects.size).toBe(0);
  });

  test('cuts a large dead letter into calls that Lambda takes', async () => {
    const world = new World();
    const records = Array.from({ length: 5 }, (_, n) => ({
      sequenceNumber: String(n),
      data: Buffer.alloc(1_048_576, n),
    }));
    world.giveUp('large', records);
    const calls: number[] = [];
    const { ingest, ...rest } = world.dependencies();
    const counted = async (part: readonly DeliveredRecord[]) => {
      calls.push(part.length);
      return ingest(part);
    };
    await redrive({ ...rest, ingest: counted }, 'aws/lambda/');
    expect(calls).toEqual([2, 2, 1]);
    expect(world.ingested.map((record) => record.sequenceNumber)).toEqual(['0', '1', '2', '3', '4']);
  });

  test('loses nothing, wherever it is cut off, and whenever memory is lost or flushed', async () => {
    const anyStep = fc.record({
      cutIn: fc.integer({ min: 1, max: 50 }),
      between: fc.constantFrom('nothing', 'time', 'flush', 'loss'),
      isOfLoss: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 30 }), async (steps) => {
        const world = new World();
        for (let n = 1; n <= 5; n++) world.quarantine(n);
        for (const { cutIn, between, isOfLoss } of steps) {
          world.cutIn = cutIn;
          const dependencies = world.dependencies();
          await (isOfLoss ? redriveLost(dependencies) : redrive(dependencies, QUARANTINE)).catch((error) => {
            if (!error.message.endsWith('cut off')) throw error;
          });
          if (between === 'loss') world.loseMemory();
          if (between === 'time' || between === 'flush') world.pass(between === 'flush');
          for (let n = 1; n <= 5; n++)
            if (!world.objects.has(`quarantine/shard-0/${n}`)) expect(world.warm).toContain(String(n));
        }
        world.cutIn = Infinity;
        await redrive(world.dependencies(), QUARANTINE);
        world.pass(true);
        await redrive(world.dependencies(), QUARANTINE);
        expect(world.objects.size).toBe(0);
      }),
    );
  });

  test.each([
    { name: 'no arrival', key: 'quarantine/shard-0/1', body: 'x' },
    { name: 'a key that is none of ours', key: 'quarantine/x', body: 'x' },
    { name: 'no JSON', key: 'aws/lambda/a', body: 'x' },
    { name: 'null', key: 'aws/lambda/a', body: 'null' },
    { name: 'a payload that is not JSON', key: 'aws/lambda/a', body: '{"payload":"{"}' },
    { name: 'no records', key: 'aws/lambda/a', body: '{"payload":"{}"}' },
    { name: 'a record that is null', key: 'aws/lambda/a', body: '{"payload":"{\\"Records\\":[null]}"}' },
    { name: 'a record without data', key: 'aws/lambda/a', body: '{"payload":"{\\"Records\\":[{}]}"}' },
  ])('leaves an object with $name, and drives the others', async ({ key, body }) => {
    expect(() => recordsInObject(key, Buffer.from(body), {})).toThrow(MalformedRedriveObjectError);
    const world = new World();
    world.objects.set(key, { body: Buffer.from(body), metadata: {} });
    const prefix = key.startsWith('quarantine/') ? 'quarantine/' : 'aws/lambda/';
    if (prefix === 'quarantine/') world.quarantine(9);
    else world.giveUp('b', [{ sequenceNumber: '9', data: Buffer.from('x') }]);
    expect(await redrive(world.dependencies(), prefix)).toMatchObject({ records: 1, failed: 1 });
    world.pass(true);
    await redrive(world.dependencies(), prefix);
    expect([...world.objects.keys()]).toEqual([key]);
  });
});
