import fc from 'fast-check';
import { kinesisEvent } from '../../../scripts/local/batches';
import {
  MalformedRedriveObjectError,
  type RedriveDependencies,
  type RedriveStore,
  recordsInObject,
  redrive,
} from '../../../shared/recovery/redrive';
import type { DeliveredRecord } from '../../../shared/stream/delivered';

class CutOff extends Error {}

/** A bucket and an ingester that are cut off at some call, and what they have seen. */
class World implements RedriveStore {
  readonly objects = new Map<string, { body: Buffer; metadata: Record<string, string> }>();
  readonly ingested: DeliveredRecord[] = [];
  readonly poison = new Set<string>();
  refused: string | undefined;
  cutIn = Infinity;

  private call(): void {
    if (--this.cutIn === 0) throw new CutOff();
  }

  async list(prefix: string, after: string | undefined, most: number) {
    this.call();
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(prefix) && key > (after ?? ''))
      .sort();
    // S3 may give fewer than asked for.
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

  dependencies(hasTime = () => true): RedriveDependencies {
    return {
      store: this,
      hasTime,
      ingest: async (records) => {
        this.call();
        const failed = records.map((r) => r.sequenceNumber).filter((n) => n === this.refused);
        this.ingested.push(...records.filter((r) => r.sequenceNumber !== this.refused));
        this.call();
        return {
          failed,
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

describe('what was put away and is driven again', () => {
  test('is ingested with its shard, sequence number, arrival and bytes, and removed', async () => {
    const world = new World();
    world.quarantine(7);
    const data = Buffer.from([0, 255, 1, 254]);
    world.giveUp('a', [{ sequenceNumber: '49590338271490256608559692538361571095921575989136588898', data }]);
    expect(await redrive(world.dependencies(), 'quarantine/')).toMatchObject({ records: 1, next: undefined });
    expect(await redrive(world.dependencies(), 'aws/lambda/')).toMatchObject({ records: 1 });
    expect(world.ingested).toEqual([
      { shardId: 'shard-0', sequenceNumber: '7', arrivalMs: 1_007, data: Buffer.from('record 7') },
      {
        shardId: 'shard-0',
        sequenceNumber: '49590338271490256608559692538361571095921575989136588898',
        arrivalMs: 1_795_212_120_123,
        data,
      },
    ]);
    expect(world.objects.size).toBe(0);
  });

  test('stays in quarantine when it is poison still; a batch goes, since its poison is in quarantine then', async () => {
    const world = new World();
    for (const n of [1, 2, 3]) world.quarantine(n);
    world.poison.add('2');
    expect(await redrive(world.dependencies(), 'quarantine/')).toMatchObject({
      records: 2,
      poison: 1,
      failed: 0,
    });
    expect([...world.objects.keys()]).toEqual(['quarantine/shard-0/2']);
    world.giveUp(
      'a',
      ['1', '2'].map((sequenceNumber) => ({ sequenceNumber, data: Buffer.from('x') })),
    );
    expect(await redrive(world.dependencies(), 'aws/lambda/')).toMatchObject({ records: 1, poison: 1 });
    expect([...world.objects.keys()]).toEqual(['quarantine/shard-0/2']);
  });

  test('stays when a store refuses it, and with it all after it', async () => {
    const world = new World();
    for (const n of [1, 2, 3]) world.quarantine(n);
    world.refused = '2';
    expect(await redrive(world.dependencies(), 'quarantine/')).toMatchObject({
      records: 1,
      failed: 1,
      error: 'quarantine/shard-0/2: a store refused 1 of 1 records',
    });
    expect([...world.objects.keys()]).toEqual(['quarantine/shard-0/2', 'quarantine/shard-0/3']);
  });

  test('goes on where time ended', async () => {
    const world = new World();
    for (let n = 100; n < 350; n++) world.quarantine(n);
    let left = 120;
    const first = await redrive(
      world.dependencies(() => left-- > 0),
      'quarantine/',
    );
    expect(first).toMatchObject({ records: 120, next: 'quarantine/shard-0/219' });
    expect(await redrive(world.dependencies(), 'quarantine/', first.next)).toMatchObject({ records: 130 });
    expect(world.objects.size).toBe(0);
  });

  test('goes in calls that Lambda takes, however large the batch was', async () => {
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

  test('is ingested at least once and never lost, wherever it is cut off', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 30 }), async (cuts) => {
        const world = new World();
        for (let n = 1; n <= 5; n++) world.quarantine(n);
        for (const cut of cuts) {
          world.cutIn = cut;
          await redrive(world.dependencies(), 'quarantine/').catch((error) => {
            if (!(error instanceof CutOff)) throw error;
          });
          const ingested = new Set(world.ingested.map((record) => record.sequenceNumber));
          for (let n = 1; n <= 5; n++)
            if (!world.objects.has(`quarantine/shard-0/${n}`)) expect(ingested).toContain(String(n));
        }
        world.cutIn = Infinity;
        await redrive(world.dependencies(), 'quarantine/');
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
  ])('with $name is not what was put away: it stays, and the others go', async ({ key, body }) => {
    expect(() => recordsInObject(key, Buffer.from(body), {})).toThrow(MalformedRedriveObjectError);
    const world = new World();
    world.objects.set(key, { body: Buffer.from(body), metadata: {} });
    const prefix = key.startsWith('quarantine/') ? 'quarantine/' : 'aws/lambda/';
    if (prefix === 'quarantine/') world.quarantine(9);
    else world.giveUp('b', [{ sequenceNumber: '9', data: Buffer.from('x') }]);
    expect(await redrive(world.dependencies(), prefix)).toMatchObject({ records: 1, failed: 1 });
    expect([...world.objects.keys()]).toEqual([key]);
  });
});
