import {
  BatchExecuteStatementCommand,
  DeleteItemCommand,
  GetItemCommand,
  paginateScan,
} from '@aws-sdk/client-dynamodb';
import { CatalogueWriter } from '../../shared/catalogue/catalogue-writer';
import { PoolTable } from '../../shared/catalogue/pool-table';
import type { Id } from '../../shared/model/id';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { layoutOf } from '../../shared/model/layout';
import { packLayout } from '../../shared/model/packed-layout';
import { dayOf, groupIdOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { Lifetimes } from '../../shared/operations/lifetimes';
import { metaKeys } from '../../shared/platform/keys';
import type { Table } from '../../shared/platform/table';
import { startTiers, type Tiers } from '../support/tiers';

const HOUR = 3_600_000;
const RETENTION = 460 * 24 * HOUR;
const tenant = { id: tenantIdOf('t') };
const now = Math.floor(Date.now() / HOUR) * HOUR;

/** Removes the items that DynamoDB would remove by a time, in ms. */
async function removeExpired({ client, name: TableName }: Table, ms: number): Promise<void> {
  for await (const { Items = [] } of paginateScan({ client }, { TableName, ConsistentRead: true }))
    for (const { pk, sk, expiresAt } of Items)
      if (expiresAt !== undefined && Number(expiresAt.N) * 1000 <= ms)
        await client.send(new DeleteItemCommand({ TableName, Key: { pk: pk!, sk: sk! } }));
}

describe('layouts that are put together', () => {
  let tiers: Tiers;

  beforeAll(async () => {
    // The tests say which writes were new. If an answer is lost, the retry would take its own first attempt for an
    // older write.
    tiers = await startTiers({ hasFreedoms: false });
  });

  afterAll(async () => {
    await tiers?.stop();
  });

  test('are new once; put again by another instance they are joined with what was there', async () => {
    const source = sourceOf.host('many');
    const sourceId = sourceIdOf(tenant.id, source);
    const layouts = (names: readonly string[], firstMs: number) =>
      names.map((name) => {
        const { id, packed } = packLayout(layoutOf([metricOf(source, name)]).bytes);
        return { group: groupIdOf(sourceId, 0, 0), id, packed, firstMs };
      });
    const became = (isNew: boolean, isOfNewSource = false) => ({ isNew, isOfNewSource });
    const names = Array.from({ length: 60 }, (_, i) => `custom.n${i}`);
    const one = tiers.newCatalogue();
    expect(await one.putAll(tenant.id, layouts(names.slice(0, 40), 5_000), 1_000)).toEqual(
      new Array(40).fill(became(true, true)),
    );
    expect(await one.putAll(tenant.id, layouts(names.slice(0, 40), 5_000), 1_000)).toEqual(
      new Array(40).fill(became(false)),
    );
    const again = await tiers.newCatalogue().putAll(tenant.id, layouts(names, 3_000), 2_000);
    expect(again).toEqual([...new Array(40).fill(became(false)), ...new Array(20).fill(became(true))]);
    const known = await tiers.newCatalogue().source(tenant.id, sourceId);
    expect(known).toMatchObject({ firstMs: 3_000, windowLengthsMs: [1_000, 2_000] });
    expect([...known.layouts.values()].flat()).toHaveLength(60);
  });

  test('of a new source may be a single one', async () => {
    const source = sourceOf.host('single');
    const { id, packed } = packLayout(layoutOf([metricOf(source, 'custom.a')]).bytes);
    const layout = { group: groupIdOf(sourceIdOf(tenant.id, source), 0, 0), id, packed, firstMs: 5_000 };
    const put = () => tiers.newCatalogue().putAll(tenant.id, [layout], 1_000);
    expect(await put()).toEqual([{ isNew: true, isOfNewSource: true }]);
    expect(await put()).toEqual([{ isNew: false, isOfNewSource: false }]);
  });

  /** The sources that the tenant's index lists. */
  const listed = async () => {
    const ids: Id[] = [];
    for await (const id of tiers.newCatalogue().sources.list(tenant.id)) ids.push(id);
    return ids;
  };

  test('list their source although DynamoDB refused its entry among the others', async () => {
    const source = sourceOf.host('refused');
    const sourceId = sourceIdOf(tenant.id, source);
    const { client } = tiers.meta;
    const refusing = Object.assign(Object.create(client) as typeof client, {
      async send(command: object) {
        if (!(command instanceof BatchExecuteStatementCommand)) return client.send(command as never);
        const Statements = command.input.Statements!;
        const isEntry = Statements.map(({ Parameters }) => Parameters!.some(({ S }) => S === sourceId));
        const taken = Statements.filter((_, i) => !isEntry[i]);
        const { Responses = [] } = await client.send(
          new BatchExecuteStatementCommand({ ...command.input, Statements: taken }),
        );
        const refused = { Error: { Code: 'ThrottlingError', Message: 'Throughput exceeds the capacity' } };
        return { Responses: isEntry.map((is) => (is ? refused : Responses.shift()!)) };
      },
    });
    const catalogue = new CatalogueWriter({ ...tiers.meta, client: refusing }, RETENTION);
    const layouts = ['custom.a', 'custom.b'].map((name) => {
      const { id, packed } = packLayout(layoutOf([metricOf(source, name)]).bytes);
      return { group: groupIdOf(sourceId, 0, 0), id, packed, firstMs: 5_000 };
    });
    await catalogue.putAll(tenant.id, layouts, 1_000);
    expect(await listed()).toContain(sourceId);
  });

  test('renew the entry of a source that only ever brings new layouts', async () => {
    const source = sourceOf.host('changing');
    const sourceId = sourceIdOf(tenant.id, source);
    let nowMs = now;
    const put = (...names: string[]) =>
      new CatalogueWriter(tiers.meta, RETENTION, () => nowMs).putAll(
        tenant.id,
        names.map((name) => {
          const { id, packed } = packLayout(layoutOf([metricOf(source, name)]).bytes);
          return { group: groupIdOf(sourceId, 0, 0), id, packed, firstMs: nowMs };
        }),
        HOUR,
      );
    const expiresAt = async () => {
      const { Item } = await tiers.meta.client.send(
        new GetItemCommand({
          TableName: tiers.meta.name,
          Key: metaKeys.indexedSource(tenant.id, sourceId),
          ConsistentRead: true,
        }),
      );
      return Number(Item!.expiresAt!.N) * 1000;
    };
    await put('custom.a', 'custom.b');
    nowMs += RETENTION;
    await put('custom.c', 'custom.d');
    expect(await expiresAt()).toBeGreaterThan(nowMs + RETENTION);
  });

  test('outlive a retention that is raised, as do pools and the index of series', async () => {
    const source = sourceOf.host('kept');
    const sourceId = sourceIdOf(tenant.id, source);
    const { id, packed } = packLayout(layoutOf([metricOf(source, 'custom.a')]).bytes);
    const group = groupIdOf(sourceId, 0, 0);
    let nowMs = now;
    const lifetimes = (retentionMs: number) => new Lifetimes(tiers.meta, retentionMs, () => nowMs);
    expect(await lifetimes(RETENTION).renew(() => true)).toBe(0);
    const former = new CatalogueWriter(tiers.meta, RETENTION, () => nowMs);
    await former.put(tenant.id, { group, id, packed, firstMs: now }, HOUR);
    await former.indexWriter.put(tenant.id, [{ group, id, packed, days: [dayOf(now)] }], HOUR);
    await new PoolTable(tiers.meta, RETENTION, () => nowMs).join(tenant.id, new Map([[sourceId, sourceId]]));

    const raised = 2 * RETENTION;
    // Instances of the previous release may still write.
    expect(await lifetimes(raised).renew(() => true)).toBe(0);
    expect(await lifetimes(raised).retentionMs()).toBe(RETENTION);
    nowMs += HOUR;
    // The renewal runs in slices. A second run finds nothing left to renew.
    expect(await lifetimes(raised).renew(() => false)).toBeGreaterThan(3);
    await lifetimes(raised).renew(() => true);
    expect(await lifetimes(raised).renew(() => true)).toBe(0);
    expect(await lifetimes(raised).retentionMs()).toBe(raised);

    // DynamoDB removes what has expired on the last day on which the sample can be read.
    await removeExpired(tiers.meta, now + raised);
    const later = new CatalogueWriter(tiers.meta, raised, () => now + raised);
    expect((await later.source(tenant.id, sourceId)).layouts.get(group)).toHaveLength(1);
    expect(await listed()).toContain(sourceId);
    for (const epoch of [dayOf(now), dayOf(now).slice(0, 7)])
      expect((await later.index.read(tenant.id, epoch)).map(({ layoutId }) => layoutId)).toContain(id);
    expect(await new PoolTable(tiers.meta, raised).find(tenant.id, [sourceId])).toEqual(
      new Map([[sourceId, sourceId]]),
    );
  });
});
