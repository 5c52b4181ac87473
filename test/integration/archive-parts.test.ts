import { type AttributeValue, DeleteItemCommand, paginateScan } from '@aws-sdk/client-dynamodb';
import { physicalName } from '../../scripts/local/template';
import { archiveDay } from '../../shared/archive/execute';
import { archivePartitions } from '../../shared/archive/partitions';
import { purgeDay } from '../../shared/archive/purge';
import { expireDay } from '../../shared/archive/retention';
import type { ArchivedPart } from '../../shared/cold/archived-day';
import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { flushPartition } from '../../shared/flush/execute';
import { keepOpenDays } from '../../shared/flush/keep-open-days';
import { ingestBatch } from '../../shared/ingest/ingest';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { dayOf, dayStartMs, MAX_GROUP_SERIES, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { readSeries } from '../../shared/query/read-series';
import { rowRecords } from '../../shared/stream/row-records';
import { WarmTier } from '../../shared/warm/warm-tier';
import { startTiers, type Tiers } from '../support/tiers';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const HOSTS = Array.from({ length: 20 }, (_, i) => `h${i}`);
/** Size of a part, in bytes. It is small, so that a day of these hosts has several parts. */
const PART_BYTES = 3_000;
/** Number of concurrent reads. */
const READERS = 8;

describe('a day that is archived in parts', () => {
  let tiers: Tiers;
  let tests = 0;
  let sequence = 0;
  const midnight = Math.floor(Date.now() / DAY) * DAY - DAY;
  const day = dayOf(midnight);

  beforeAll(async () => {
    tiers = await startTiers();
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  /** A tenant with one partition, and what the tests do with it. */
  function pipeline() {
    const name = `parts${tests++}`;
    const id = tenantIdOf(name);
    const epochs = [{ fromDay: '1970-01-01', partitions: 1 }];
    const tenant = { id, name, placement: { epochs } };
    const dictionary = new SeriesDictionary(id);
    const ref = { tenantId: id, partition: 0 };
    const archiver = { ...tiers, now: Date.now };
    const written: string[] = [];
    const posted = new Map<string, Map<number, number>>();
    return {
      ref,
      written,
      posted,
      /** @param others number of additional series of each host */
      async post(hosts: readonly string[], minutes: readonly number[], warm = tiers.warm, others = 0) {
        const sources = hosts.map((host) => {
          const source = sourceOf.host(host);
          const values = posted.get(host) ?? new Map<number, number>();
          posted.set(host, values);
          const rows = minutes.map((minute) => {
            const value = Math.sin(minute * 7 + host.length * 31 + Number(host.slice(1)) + others);
            values.set(midnight + minute * MINUTE, value);
            return [
              midnight + minute * MINUTE,
              new Map([
                ['cpu', value],
                ['load', -value],
                ...Array.from({ length: others }, (_, i) => [`other${i}`, i] as const),
              ]),
            ] as const;
          });
          return rowsOf(dictionary, source, new Map(rows));
        });
        const batch = rowRecords(tenant, sources).map(({ data }) => ({
          data,
          sequenceNumber: String(++sequence),
          arrivalMs: midnight + sequence,
          shardId: 's',
        }));
        const quarantine = { put: async () => Promise.reject(new Error('nothing here is poison')) };
        const { errors } = await ingestBatch(
          { ...tiers, quarantine, windowMs: HOUR, isReplay: false },
          batch,
        );
        if (errors[0] !== undefined) throw errors[0].cause;
        const dueMs = (await tiers.hot.nodes.now()) + DAY;
        const { failures } = await flushPartition({ ...tiers, warm, windowMs: HOUR }, ref, dueMs, () => true);
        if (failures[0] !== undefined) throw failures[0];
      },
      /** @param groups maximum number of groups to archive before it must stop */
      archive(groups = Number.POSITIVE_INFINITY, cold = tiers.cold, manifest = tiers.manifest) {
        let asked = 0;
        const limits = { partBytes: PART_BYTES, mustStop: () => asked++ >= groups };
        return archiveDay({ ...archiver, cold, manifest }, ref, { day }, limits);
      },
      /**
       * A manifest that makes each write twice, as the SDK does after a lost response.
       *
       * @param meanwhile called between the two calls of the first write of its kind
       */
      forgetful(
        meanwhile: { commit?: () => Promise<unknown>; saveAttempt?: () => Promise<unknown> } = {},
      ): typeof tiers.manifest {
        const manifest = Object.create(tiers.manifest) as typeof tiers.manifest;
        const { attempts } = tiers.manifest;
        const once = (act?: () => Promise<unknown>) => {
          const acts = act === undefined ? [] : [act];
          return async () => acts.pop()?.();
        };
        const whileCommitting = once(meanwhile.commit);
        const whileSaving = once(meanwhile.saveAttempt);
        return Object.assign(manifest, {
          async commit(...args: Parameters<typeof manifest.commit>) {
            await tiers.manifest.commit(...args);
            await whileCommitting();
            return tiers.manifest.commit(...args);
          },
          attempts: Object.assign(Object.create(attempts) as typeof attempts, {
            async save(...args: Parameters<typeof attempts.save>) {
              await attempts.save(...args);
              await whileSaving();
              return attempts.save(...args);
            },
          }),
        });
      },
      /** A store that stops the archiver when it is about to write the object with this number, counted from 0. */
      killedAt(object: number) {
        let begun = 0;
        const cold = Object.create(tiers.cold) as typeof tiers.cold;
        return Object.assign(cold, {
          begin(key: string) {
            const upload = tiers.cold.begin(key);
            if (begun++ === object) upload.finish = () => Promise.reject(new Error('killed'));
            return upload;
          },
        });
      },
      purge: () => purgeDay(archiver, ref, { day }, 0),
      async parts(): Promise<readonly ArchivedPart[]> {
        return (await tiers.manifest.get(ref, day))!.archived!.parts;
      },
      /** Keys of the bucket's objects. */
      async objects(): Promise<string[]> {
        return tiers.cold.list(ref, day);
      },
      /** Compares what is read with what was posted. */
      async expectWhole() {
        await mapLimited([...posted], READERS, async ([host, values]) => {
          const source = sourceOf.host(host);
          const known = await tiers.newCatalogue().source(id, sourceIdOf(id, source));
          const range = { fromMs: dayStartMs(day), toMs: dayStartMs(day) + DAY };
          const series = ['cpu', 'load'].map((name) => metricOf(source, name));
          const { block } = await readSeries(tiers, tenant, { source, series, known }, range);
          const sorted = [...values].sort(([a], [b]) => a - b);
          expect([...block.timestamps]).toEqual(sorted.map(([ms]) => ms));
          expect([...block.columns[0]!.values]).toEqual(sorted.map(([, value]) => value));
          expect([...block.columns[1]!.values]).toEqual(sorted.map(([, value]) => -value));
        });
      },
    };
  }

  const minutes = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

  test('has parts of about the size asked for, each with its groups, and only those that change are written again', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    expect(await day.archive()).toBe(true);
    const before = await day.parts();
    expect(before.length).toBeGreaterThan(4);
    expect((await day.objects()).sort()).toEqual(before.map(({ key }) => key).sort());
    expect(await day.purge()).toMatchObject({ remains: false });
    await day.expectWhole();

    await day.post(HOSTS.slice(0, 1), minutes(100, 101));
    await day.expectWhole();
    expect(await day.archive()).toBe(true);
    const after = await day.parts();
    const keys = new Set(before.map(({ key }) => key));
    expect(after.filter(({ key }) => !keys.has(key))).toHaveLength(1);
    expect((await day.objects()).sort()).toEqual(after.map(({ key }) => key).sort());
    expect((await day.purge()).items).toBeGreaterThan(0);
    await day.expectWhole();
  });

  test('has the newest value of a series whose former group lies in another part', async () => {
    const day = pipeline();
    await day.post(HOSTS.slice(0, 1), minutes(0, 240));
    // With this number of series, the host has two groups. Neither of them is the group of the first post.
    await day.post(HOSTS.slice(0, 1), minutes(0, 240), tiers.warm, MAX_GROUP_SERIES);
    await day.expectWhole();
    expect(await day.archive()).toBe(true);
    expect((await day.parts()).length).toBeGreaterThan(2);
    expect(await day.purge()).toMatchObject({ remains: false });
    await day.expectWhole();
  });

  test('splits a part that late data made too large', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 5));
    expect(await day.archive()).toBe(true);
    const before = await day.parts();
    await day.post(HOSTS, minutes(60, 240));
    expect(await day.archive()).toBe(true);
    expect((await day.parts()).length).toBeGreaterThan(before.length);
    expect(await day.purge()).toMatchObject({ remains: false });
    await day.expectWhole();
  });

  test('goes on where it was stopped or killed, with the parts that it has', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    // The archiver is killed as it writes the third object, so the manifest has two.
    await expect(day.archive(undefined, day.killedAt(2))).rejects.toThrow('killed');
    const kept = await day.objects();
    expect(kept).toHaveLength(2);
    await day.expectWhole();
    // Post more samples, for groups on both sides of the point that the archiver reached.
    await day.post(HOSTS, minutes(95, 97));
    let slices = 1;
    while (!(await day.archive(3))) slices++;
    expect(slices).toBeGreaterThan(2);
    const keys = (await day.parts()).map(({ key }) => key);
    expect(keys).toEqual(expect.arrayContaining(kept));
    await day.expectWhole();
    // The attempt did not know of samples that arrived after it began, so the day is still open.
    expect(await day.purge()).toMatchObject({ items: 0, remains: true });
    expect(await day.archive()).toBe(true);
    expect(await day.purge()).toMatchObject({ remains: false });
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    await day.expectWhole();
  });

  test('is committed once by two archivers that work on it at a time, and no object is left over', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    const results = await Promise.all([day.archive(), day.archive()]);
    expect(results).toContain(true);
    expect(await day.archive()).toBe(true);
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    expect(await day.purge()).toMatchObject({ remains: false });
    await day.expectWhole();
  });

  test('keeps every object that the manifest names, though answers of the manifest are lost', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    while (!(await day.archive(2, tiers.cold, day.forgetful())));
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    await day.purge();
    await day.expectWhole();
    await day.post(HOSTS.slice(0, 1), minutes(90, 100));
    expect(await day.archive(Number.POSITIVE_INFINITY, tiers.cold, day.forgetful())).toBe(true);
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    await day.expectWhole();
  });

  test('keeps what another archiver went on with, when the answer of a commit is lost', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    let isOtherDone: boolean | undefined;
    const other = async () => {
      await day.post(HOSTS.slice(0, 1), minutes(90, 100));
      isOtherDone = await day.archive();
    };
    expect(await day.archive(undefined, tiers.cold, day.forgetful({ commit: other }))).toBe(false);
    expect(isOtherDone).toBe(true);
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    await day.purge();
    await day.expectWhole();
  });

  test('keeps what another archiver went on with, when the answer of a saved attempt is lost', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    const other = async () => expect(await day.archive(7)).toBe(false);
    expect(await day.archive(7, tiers.cold, day.forgetful({ saveAttempt: other }))).toBe(false);
    expect(await day.archive()).toBe(true);
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    await day.purge();
    await day.expectWhole();
  });

  test('leaves no object when another archiver archives the whole day before the first part is saved', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    const { attempts } = tiers.manifest;
    let isOtherDone: boolean | undefined;
    const slow = Object.assign(Object.create(tiers.manifest) as typeof tiers.manifest, {
      attempts: Object.assign(Object.create(attempts) as typeof attempts, {
        async save(...args: Parameters<typeof attempts.save>) {
          isOtherDone ??= await day.archive();
          return attempts.save(...args);
        },
      }),
    });
    expect(await day.archive(undefined, tiers.cold, slow)).toBe(false);
    expect(isOtherDone).toBe(true);
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    await day.purge();
    await day.expectWhole();
  });

  test('does not expire while nobody archives it, however long: the flusher puts that off', async () => {
    const day = pipeline();
    const ttlMs = 10 * MINUTE;
    let nowMs = Date.now();
    const table = { client: tiers.meta.client, name: physicalName('Warm') };
    const warm = new WarmTier(table, ttlMs, () => nowMs);
    /** Removes expired items, as DynamoDB does within two days. */
    const removeExpired = async () => {
      const Items: Record<string, AttributeValue>[] = [];
      for await (const page of paginateScan(
        { client: table.client },
        { TableName: table.name, ConsistentRead: true },
      ))
        Items.push(...page.Items!);
      const own = Items.filter(({ pk }) => pk!.S!.startsWith(day.ref.tenantId));
      const expired = own.filter(({ expiresAt }) => Number(expiresAt!.N) * 1000 <= nowMs);
      for (const { pk, sk } of expired)
        await table.client.send(new DeleteItemCommand({ TableName: table.name, Key: { pk: pk!, sk: sk! } }));
      return own.length - expired.length;
    };
    const keep = () => keepOpenDays({ warm, manifest: tiers.manifest, now: () => nowMs }, day.ref, ttlMs);
    await day.post(HOSTS.slice(0, 4), minutes(0, 90), warm);
    const items = await removeExpired();
    expect(items).toBeGreaterThan(4);
    for (let passed = 0; passed < 4 * ttlMs; passed += ttlMs / 5) {
      nowMs += ttlMs / 5;
      await keep();
      expect(await removeExpired()).toBe(items);
    }
    await day.expectWhole();
    expect(await day.archive()).toBe(true);
    // Now the items expire, and the archive has their samples.
    nowMs += 2 * ttlMs;
    expect(await keep()).toBe(0);
    expect(await removeExpired()).toBe(0);
    await day.expectWhole();
  });

  test('is removed after the retention of its tenant, and not a millisecond earlier', async () => {
    const other = pipeline();
    const day = pipeline();
    const longer = pipeline();
    for (const each of [day, other, longer]) {
      await each.post(HOSTS.slice(0, 3), minutes(0, 5));
      expect(await each.archive()).toBe(true);
    }
    const retentionMs = 100 * DAY;
    const run = (nowMs: number) =>
      archivePartitions({ ...tiers, now: () => nowMs }, [day.ref, longer.ref], {
        beforeMs: nowMs,
        retentionMs: ({ tenantId }) => retentionMs + (tenantId === longer.ref.tenantId ? 1 : 0),
        archiveAfterMs: 0,
        partBytes: PART_BYTES,
        purgeAgeMs: undefined,
        hasTime: () => true,
        mustStop: () => false,
        onFailure: (_, __, error) => {
          throw error;
        },
      });
    // One hour after the last time at which the day's last sample can be read.
    const endMs = midnight + DAY + retentionMs + HOUR;
    expect(await run(endMs - 1)).toMatchObject({ expired: 0 });
    await day.expectWhole();
    // Warm items that were never archived are removed, too.
    await day.post(HOSTS.slice(0, 1), minutes(6, 7));
    expect(await run(endMs)).toMatchObject({ expired: 1, expiredObjects: 1, archived: 0 });
    expect(await day.objects()).toEqual([]);
    expect(await tiers.manifest.get(day.ref, dayOf(midnight))).toBeUndefined();
    // A retry after a lost response finds no entry.
    expect(await tiers.manifest.remove(day.ref, dayOf(midnight), 1)).toBe(true);
    expect(await tiers.warm.hasItems(day.ref, dayOf(midnight))).toBe(false);
    expect(await run(endMs)).toMatchObject({ expired: 0 });
    await longer.expectWhole();
    expect(await run(endMs + 1)).toMatchObject({ expired: 1 });
    expect(await longer.objects()).toEqual([]);
    await other.expectWhole();
  });

  test('leaves no attempt behind when it is removed: imported again, it is archived from the beginning', async () => {
    const day = pipeline();
    await day.post(HOSTS, minutes(0, 90));
    expect(await day.archive(7)).toBe(false);
    const entry = (await tiers.manifest.get(day.ref, dayOf(midnight)))!;
    expect(await expireDay(tiers, day.ref, entry, () => true)).toMatchObject({ isDone: true });
    day.posted.clear();
    // Raise the retention, so that the day lies within it.
    await day.post(HOSTS, minutes(30, 50));
    expect(await day.archive()).toBe(true);
    expect((await day.objects()).sort()).toEqual((await day.parts()).map(({ key }) => key).sort());
    await day.purge();
    await day.expectWhole();
  });
});
