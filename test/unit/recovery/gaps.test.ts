import { kinesisEvent } from '../../../scripts/local/batches';
import { SeriesDictionary } from '../../../shared/dictionary/series-dictionary';
import { sourceOf } from '../../../shared/model/labels';
import { tenantIdOf } from '../../../shared/model/placement';
import { rowsOf } from '../../../shared/protocol/mackerel/json';
import { type Gap, type GapDependencies, gapOf, KnownGaps, keepGaps } from '../../../shared/recovery/gaps';
import { redrive } from '../../../shared/recovery/redrive';
import type { RedriveEntry } from '../../../shared/recovery/redrive-ledger';
import { decodeRecord } from '../../../shared/stream/record-decoder';
import { rowRecords } from '../../../shared/stream/row-records';

const ARRIVED_MS = 1_795_212_120_123;
const TIME_MS = 1_795_212_000_000;

/** A record with a sample of a tenant's host for each of some times, as post makes it, and its partition. */
function recordOf(name: string, host: string, timesMs: readonly number[]) {
  const tenant = {
    id: tenantIdOf(name),
    name,
    placement: { epochs: [{ fromDay: '1970-01-01', partitions: 8 }] },
  };
  const points = new Map(timesMs.map((ms) => [ms, new Map([['m', 1]])]));
  const rows = rowsOf(new SeriesDictionary(tenant.id), sourceOf.host(host), points);
  const { data } = rowRecords(tenant, [rows])[0]!;
  return { data, ref: { tenantId: tenant.id, partition: decodeRecord(data).partition } };
}

function deadLetter(records: readonly Uint8Array[]): Buffer {
  const all = records.map((data, i) => ({
    sequenceNumber: String(i + 1),
    partitionKey: 'k',
    arrivalMs: ARRIVED_MS + i,
    data: Buffer.from(data),
  }));
  return Buffer.from(JSON.stringify({ payload: JSON.stringify(kinesisEvent(all, 'shard-0', 'arn')) }));
}

/** A bucket of dead letters, a ledger, and a table of gaps. */
class World {
  readonly objects = new Map<string, Buffer>();
  readonly entries = new Map<string, RedriveEntry>();
  readonly table = new Map<string, Gap>();
  readonly refused = new Set<string>();
  notices = 0;
  flushedUntilMs = 0;

  readonly store = {
    list: async (prefix: string, after: string | undefined, most: number) => {
      const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > (after ?? ''));
      const page = keys.sort().slice(0, Math.min(most, 2));
      return {
        objects: page.map((key) => ({ key, bytes: 0, modifiedMs: 0 })),
        hasMore: page.length < keys.length,
      };
    },
    read: async (key: string) => {
      const body = this.objects.get(key);
      return body && { body, metadata: { arrival: String(ARRIVED_MS) } };
    },
    delete: async (key: string) => void this.objects.delete(key),
  };

  readonly dependencies: GapDependencies = {
    store: this.store,
    ledger: {
      entries: async () => new Map(this.entries),
      put: async (key, entry) => void this.entries.set(key, entry),
      delete: async (key) => void this.entries.delete(key),
      progress: async () => ({
        flushedUntilMs: this.flushedUntilMs,
        watermarkMs: ARRIVED_MS,
        notices: this.notices,
      }),
    },
    gaps: {
      read: async () => new Map(this.table),
      put: async (key, gap) => void this.table.set(key, gap),
      delete: async (key) => void this.table.delete(key),
    },
    hasTime: () => true,
  };

  redrive(prefix = 'aws/lambda/') {
    const ingest = async (records: readonly { sequenceNumber: string }[]) => ({
      failed: records.map(({ sequenceNumber }) => sequenceNumber).filter((n) => this.refused.has(n)),
      quarantined: [],
    });
    return redrive({ ...this.dependencies, store: this.store, ingest }, prefix);
  }
}

test('a dead letter is a gap until it has been ingested: in its partitions, from its first to its last sample', async () => {
  const world = new World();
  const a = recordOf('a', 'h1', [TIME_MS, TIME_MS + 60_000]);
  const later = recordOf('a', 'h1', [TIME_MS + 120_000]);
  const b = recordOf('b', 'h2', [TIME_MS + 5]);
  world.objects.set('aws/lambda/1', deadLetter([a.data, Buffer.from('poison'), later.data, b.data]));
  await keepGaps(world.dependencies, true);
  const gap = world.table.get('aws/lambda/1')!;
  expect(gap.sinceMs).toBe(ARRIVED_MS);
  expect(gap.ranges).toEqual([
    [a.ref.tenantId, a.ref.partition, TIME_MS, TIME_MS + 120_001],
    [b.ref.tenantId, b.ref.partition, TIME_MS + 5, TIME_MS + 6],
  ]);

  const missing = (refs: (typeof a.ref)[], fromMs: number, toMs: number) =>
    new KnownGaps(world.dependencies.gaps, () => 0).missingSince(refs, { fromMs, toMs });
  expect(await missing([a.ref], TIME_MS + 120_000, TIME_MS + 200_000)).toBe(ARRIVED_MS);
  expect(await missing([a.ref], TIME_MS + 120_001, TIME_MS + 200_000)).toBeUndefined();
  expect(await missing([a.ref], TIME_MS - 1_000, TIME_MS)).toBeUndefined();
  const other = { tenantId: a.ref.tenantId, partition: (a.ref.partition + 1) % 8 };
  expect(await missing([other], 0, 2 * TIME_MS)).toBeUndefined();
  expect(await missing([other, b.ref], 0, 2 * TIME_MS)).toBe(ARRIVED_MS);

  await world.redrive();
  await keepGaps(world.dependencies, false);
  expect(world.table.size).toBe(0);
});

test('an object that was ingested in part and then refused stays a gap', async () => {
  const world = new World();
  // Two calls of the replayer: the first ingests its records, a store refuses those of the second.
  const large = ['h1', 'h2'].flatMap((host) => [
    recordOf('a', host, [TIME_MS]).data,
    Buffer.alloc(2_000_000),
  ]);
  world.objects.set('aws/lambda/1', deadLetter(large));
  world.refused.add('3');
  await keepGaps(world.dependencies, true);
  expect(await world.redrive()).toMatchObject({ failed: 1, records: 0 });
  await keepGaps(world.dependencies, false);
  expect([...world.table.keys()]).toEqual(['aws/lambda/1']);
  world.refused.clear();
  expect(await world.redrive()).toMatchObject({ failed: 0 });
  await keepGaps(world.dependencies, false);
  expect(world.table.size).toBe(0);
});

test('what a loss may have taken of a redriven object is a gap until it is ingested again, in quarantine too', async () => {
  const world = new World();
  world.objects.set('quarantine/shard-0/7', Buffer.from(recordOf('a', 'h1', [TIME_MS]).data));
  await world.redrive('quarantine/');
  await keepGaps(world.dependencies, false);
  expect(world.table.size).toBe(0);
  world.notices++;
  world.refused.add('7');
  await keepGaps(world.dependencies, false);
  expect([...world.table.keys()]).toEqual(['quarantine/shard-0/7']);
  // An object that is removed without a redrive takes its gap along.
  world.objects.clear();
  world.entries.clear();
  await keepGaps(world.dependencies, false);
  expect(world.table.size).toBe(0);
});

test('of many dead letters, each step records those that it has time for; a malformed one is no gap', async () => {
  const world = new World();
  for (const n of [1, 2, 3, 4, 5])
    world.objects.set(`aws/lambda/${n}`, deadLetter([recordOf('a', `h${n}`, [TIME_MS]).data]));
  let left = 3;
  await keepGaps({ ...world.dependencies, hasTime: () => left-- > 0 }, true);
  expect(world.table.size).toBe(3);
  await keepGaps(world.dependencies, false);
  expect(world.table.size).toBe(5);
  expect(gapOf('aws/lambda/x', Buffer.from('malformed'), {})).toEqual({ sinceMs: 0, ranges: [] });
});

test('readers keep the gaps for ten seconds, and go on with them if the table fails', async () => {
  let nowMs = 0;
  let reads = 0;
  let isDown = true;
  const gap: Gap = { sinceMs: 7, ranges: [['t', 0, 0, 10]] };
  let stored = new Map<string, Gap>();
  const gaps = new KnownGaps(
    {
      read: async () => {
        reads++;
        if (isDown) throw new Error('no answer');
        return stored;
      },
    },
    () => nowMs,
  );
  const ask = () => gaps.missingSince([{ tenantId: 't', partition: 0 }], { fromMs: 0, toMs: 1 });
  await expect(ask()).rejects.toThrow('no answer');
  isDown = false;
  reads = 0;
  expect(await Promise.all([ask(), ask()])).toEqual([undefined, undefined]);
  expect(reads).toBe(1);
  stored = new Map([['aws/lambda/1', gap]]);
  nowMs = 9_999;
  expect([await ask(), reads]).toEqual([undefined, 1]);
  nowMs = 10_000;
  expect([await ask(), reads]).toEqual([7, 2]);
  stored = new Map();
  nowMs = 80_000;
  expect([await ask(), reads]).toEqual([undefined, 3]);
  isDown = true;
  nowMs = 200_000;
  expect([await ask(), reads]).toEqual([undefined, 4]);
  // After a failure, reads do not wait for the table again for ten seconds.
  nowMs = 209_999;
  expect([await ask(), reads]).toEqual([undefined, 4]);
  nowMs = 210_000;
  expect([await ask(), reads]).toEqual([undefined, 5]);
});

test('a read does not trust an answer of the table that was under way while its instance was frozen', async () => {
  let nowMs = 0;
  const ends: ((gaps: Map<string, Gap>) => void)[] = [];
  const gaps = new KnownGaps({ read: () => new Promise((resolve) => ends.push(resolve)) }, () => nowMs);
  const ask = () => gaps.missingSince([{ tenantId: 't', partition: 0 }], { fromMs: 0, toMs: 1 });
  const first = ask();
  ends[0]!(new Map());
  expect(await first).toBeUndefined();
  nowMs = 10_000;
  gaps.prepare();
  nowMs = 300_000;
  const thawed = ask();
  const gap: Gap = { sinceMs: 7, ranges: [['t', 0, 0, 10]] };
  expect(ends).toHaveLength(3);
  ends[2]!(new Map([['aws/lambda/1', gap]]));
  expect(await thawed).toBe(7);
  // The old answer arrives last.
  ends[1]!(new Map());
  await new Promise(setImmediate);
  expect(await ask()).toBe(7);
});

test('a read waits for the gaps that a reader has begun to read, and asks the table once', async () => {
  let reads = 0;
  const gap: Gap = { sinceMs: 7, ranges: [['t', 0, 0, 10]] };
  const gaps = new KnownGaps(
    {
      read: async () => {
        reads++;
        return new Map([['aws/lambda/1', gap]]);
      },
    },
    () => 0,
  );
  gaps.prepare();
  gaps.prepare();
  expect(await gaps.missingSince([{ tenantId: 't', partition: 0 }], { fromMs: 0, toMs: 1 })).toBe(7);
  expect(reads).toBe(1);
});
