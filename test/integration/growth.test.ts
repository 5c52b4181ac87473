import { archivePartitions } from '../../shared/archive/partitions';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartitions } from '../../shared/flush/partitions';
import { ingestBatch } from '../../shared/ingest/ingest';
import { ALL_TIME } from '../../shared/model/deletion';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { allPartitions } from '../../shared/model/partitions';
import {
  dayOf,
  dayStartMs,
  MAX_AHEAD_MS,
  partitionOf,
  partitionsOn,
  sourceIdOf,
} from '../../shared/model/placement';
import { setTenant } from '../../shared/operations/tenant-commands';
import { partitionBytes } from '../../shared/operations/usage-commands';
import { parseSettings } from '../../shared/platform/settings';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { readSeries } from '../../shared/query/read-series';
import { deletionRecords } from '../../shared/stream/deletion-records';
import type { OutgoingRecord } from '../../shared/stream/put';
import type { DeliveredRecord } from '../../shared/stream/record-decoder';
import { rowRecords } from '../../shared/stream/row-records';
import { Tenants } from '../../shared/tenancy/tenants';
import { UsageTable } from '../../shared/tenancy/usage-table';
import { ARCHIVE_LIMITS, startTiers, type Tiers } from '../support/tiers';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const METRICS = ['a', 'b'];
const HOSTS = Array.from({ length: 12 }, (_, i) => sourceOf.host(`h${i}`));

/** Numbers in [0, 1) that look random and are the same in each run. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a tenant whose partitions change from 8 to 64 and to 4, under load', () => {
  let tiers: Tiers;

  beforeAll(async () => {
    tiers = await startTiers();
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  test('reads exactly at all times, with late, early and corrected samples, deletions and a replay', async () => {
    const random = randomOf(20_261_122);
    // The clock of post and of operators. Nothing here depends on the stores' clocks.
    const start = Math.floor(Date.now() / DAY) * DAY - 6 * DAY;
    let nowMs = start;
    const now = () => nowMs;
    const operator = new Tenants(tiers.meta, now);
    await operator.create('growing', 8);
    const stage = parseSettings({});
    const set = (partitions: number, from?: string) =>
      setTenant(
        { tenants: operator, stage, now },
        {
          command: 'tenants set',
          name: 'growing',
          limits: {},
          partitions,
          from,
        },
      );
    /** Instances of post, each with a copy of the placement. */
    const writers = [new Tenants(tiers.meta, now), new Tenants(tiers.meta, now)];
    const stream: DeliveredRecord[] = [];
    let delivered = 0;
    /** The value that readers must see for each host, metric and time. */
    const ledger = new Map<string, number>();

    /**
     * A shard for each partition, with its own range of sequence numbers. The ranges are in a random order, so they say
     * nothing about time.
     */
    const shards = new Map<string, bigint>();
    const put = (records: readonly OutgoingRecord[]) => {
      for (const { data, partitionKey: shardId } of records) {
        const range = shards.get(shardId) ?? BigInt(Math.floor(random() * 2 ** 32)) << 144n;
        shards.set(shardId, range);
        const sequenceNumber = (range + BigInt(stream.length)).toString();
        stream.push({ data, sequenceNumber, arrivalMs: nowMs, shardId });
      }
    };
    const dictionary = new SeriesDictionary((await writers[0]!.get('growing'))!.id);
    const post = async (writer: Tenants, host: number, timestamp: number) => {
      const tenant = (await writer.get('growing'))!;
      const values = new Map(METRICS.map((name) => [name, random()]));
      for (const [name, value] of values) ledger.set(`${host} ${name} ${timestamp}`, value);
      put(rowRecords(tenant, [rowsOf(dictionary, HOSTS[host]!, new Map([[timestamp, values]]))]));
    };
    const remove = async (host: number, fromMs: number, toMs: number) => {
      const tenant = (await operator.read('growing'))!;
      const deletion = { selector: { name: 'a', isPrefix: false }, fromMs, toMs };
      put(deletionRecords(tenant, HOSTS[host]!, deletion));
      for (const key of ledger.keys()) {
        const [of, name, time] = key.split(' ') as [string, string, string];
        if (Number(of) === host && name === 'a' && Number(time) >= fromMs && Number(time) < toMs)
          ledger.delete(key);
      }
    };
    const ingest = async (records: readonly DeliveredRecord[], isReplay = false) => {
      const quarantine = { put: () => Promise.reject(new Error('nothing here is poison')) };
      const { errors } = await ingestBatch({ ...tiers, quarantine, windowMs: HOUR, isReplay }, records);
      if (errors[0] !== undefined) throw errors[0].cause;
    };
    const deliver = async () => {
      await ingest(stream.slice(delivered));
      delivered = stream.length;
    };
    const partitions = async () => allPartitions(await operator.list());
    const failed = (_: unknown, error: unknown) => {
      throw error;
    };
    const flush = async () => {
      const flushing = { ...tiers, windowMs: HOUR, usage: new UsageTable(tiers.meta) };
      await flushPartitions(flushing, await partitions(), {
        dueBeforeMs: await tiers.hot.nodes.now(),
        flushDelayMs: 0,
        hasTime: () => true,
        onFailure: failed,
      });
    };
    const archive = async (beforeMs: number) => {
      await archivePartitions({ ...tiers, now: Date.now }, await partitions(), {
        beforeMs,
        archiveAfterMs: 0,
        retentionMs: () => 460 * DAY,
        ...ARCHIVE_LIMITS,
        purgeAgeMs: 0,
        hasTime: () => true,
        onFailure: (ref, _, error) => failed(ref, error),
      });
    };
    const read = async (host: number) => {
      const tenant = (await writers[0]!.get('growing'))!;
      const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, HOSTS[host]!));
      const series = METRICS.map((name) => metricOf(HOSTS[host]!, name));
      const range = { fromMs: start - 2 * DAY, toMs: nowMs + 3 * DAY };
      const { block } = await readSeries(
        { ...tiers, now },
        tenant,
        { source: HOSTS[host]!, series, known },
        range,
      );
      return block.columns.flatMap(({ rows, values }, i) =>
        Array.from(
          values,
          (value, cell) =>
            `${host} ${METRICS[i]} ${block.timestamps[rows === undefined ? cell : rows[cell]!]} ${value}`,
        ),
      );
    };
    const expected = (host: number) =>
      [...ledger].filter(([key]) => key.startsWith(`${host} `)).map(([key, value]) => `${key} ${value}`);
    const expectExact = async (hosts: readonly number[]) => {
      for (const host of hosts) expect((await read(host)).sort()).toEqual(expected(host).sort());
    };

    // Each epoch is published two days before its first day.
    const grown = dayOf(start + 2 * DAY);
    const shrunk = dayOf(start + 4 * DAY);
    const everyone = HOSTS.map((_, host) => host);
    for (let step = 0; nowMs < start + 5 * DAY; step++) {
      if (nowMs === start + 20 * HOUR) {
        await expect(set(64, dayOf(start + DAY))).rejects.toThrow(`give ${grown} or later`);
        expect(await set(64)).toMatchObject({ partitions: 8, epochs: [{}, { fromDay: grown }] });
      }
      if (nowMs === start + 68 * HOUR)
        expect(await set(4)).toMatchObject({ partitions: 64, epochs: [{}, {}, { fromDay: shrunk }] });
      for (const host of everyone) {
        const writer = writers[(host + step) % 2]!;
        const older = nowMs - Math.floor(random() * DAY);
        // Sometimes this is the latest time that `post` accepts.
        const ahead = nowMs + (host % 4 === 0 ? MAX_AHEAD_MS : Math.floor(random() * MAX_AHEAD_MS));
        for (const time of [nowMs, older, ahead]) await post(writer, host, time);
        // Correct a value, or send the same one again, as a client may.
        if (host % 3 === 0) await post(writer, host, older);
      }
      if (step % 6 === 3) await remove(step % 12, nowMs - DAY, nowMs + DAY);
      // Delete everything that was posted so far. The host continues to post, also on days with other numbers of
      // partitions.
      if (step % 6 === 4) await remove((step * 5) % 12, ALL_TIME.fromMs, ALL_TIME.toMs);
      await deliver();
      if (step % 3 === 0) await expectExact([step % 12]);
      if (step % 7 === 6) await flush();
      if (step % 14 === 13) await archive(nowMs);
      nowMs += 4 * HOUR;
    }
    await expectExact(everyone);

    // Delete samples across both borders, replay all records, and move everything to the archive.
    await remove(0, dayStartMs(grown) - 6 * HOUR, dayStartMs(shrunk) + 6 * HOUR);
    await remove(1, 0, start + 9 * DAY);
    await deliver();
    await expectExact([0, 1]);
    await flush();
    await ingest(stream, true);
    await expectExact([0, 1, 2]);
    await flush();
    await archive(8.64e15);
    await expectExact(everyone);

    // Each group of a day is in the partition that follows from that day's number of partitions, and nowhere else.
    const tenant = (await operator.read('growing'))!;
    const placed = new Map([
      [dayOf(start + DAY), 8],
      [grown, 64],
      [shrunk, 4],
    ]);
    for (const [day, number] of placed) {
      expect(partitionsOn(tenant.placement, day)).toBe(number);
      const found: string[] = [];
      for (const ref of await partitions())
        for (const chunk of await tiers.archivedChunks(ref, day))
          found.push(`${chunk.group.slice(0, 22)} ${ref.partition}`);
      const sources = HOSTS.map((host) => sourceIdOf(tenant.id, host));
      expect([...new Set(found)].sort()).toEqual(
        sources.map((id) => `${id} ${partitionOf(id, number)}`).sort(),
      );
    }
    // Nothing is left in memory or in the warm tier, for any partition that ever existed.
    for (const ref of await partitions())
      expect(await partitionBytes(tiers, ref)).toMatchObject({ hot: 0, warm: 0 });
  });

  test('a writer whose copy of the placement is older than a minute reads it again, or fails', async () => {
    let nowMs = Date.now();
    const writer = new Tenants(tiers.meta, () => nowMs);
    const operator = new Tenants(tiers.meta);
    await operator.create('copied', 8);
    expect((await writer.get('copied'))!.placement.epochs).toHaveLength(1);
    const day = dayOf(nowMs + 5 * DAY);
    const before = (await operator.read('copied'))!;
    const after = { epochs: [...before.placement.epochs, { fromDay: day, partitions: 64 }] };
    await operator.setPlacement(before, after);
    // A retry after a lost response sets the same placement again, which changes nothing.
    await operator.setPlacement(before, after);
    const other = { epochs: [...before.placement.epochs, { fromDay: day, partitions: 32 }] };
    await expect(operator.setPlacement(before, other)).rejects.toThrow('changed or deleted meanwhile');

    nowMs += 59_999;
    expect((await writer.get('copied'))!.placement.epochs).toHaveLength(1);
    nowMs += 1;
    const { name } = tiers.meta;
    Object.assign(tiers.meta, { name: 'gone' });
    await expect(writer.get('copied')).rejects.toThrow();
    Object.assign(tiers.meta, { name });
    expect((await writer.get('copied'))!.placement).toEqual(after);
    // After the clock was set back, no cached copy may be used.
    nowMs -= HOUR;
    await operator.setPlacement((await operator.read('copied'))!, before.placement);
    expect((await writer.get('copied'))!.placement).toEqual(before.placement);
    await operator.markDeleted('copied');
    await expect(operator.setPlacement(before, after)).rejects.toThrow('changed or deleted meanwhile');
  });
});
