import {
  type DynamoDBClient,
  TransactionCanceledException,
  type TransactWriteItem,
} from '@aws-sdk/client-dynamodb';
import { idOf } from '../../../shared/model/id';
import type { DashboardSpec } from '../../../shared/registry/dashboard';
import { ChangedMeanwhileError, Dashboards, TakenPathError } from '../../../shared/registry/dashboards';

const TENANT = idOf('tenant', 'acme');
const spec: DashboardSpec = { title: 'shop', memo: '', urlPath: 'shop', widgets: [] };

/** A table in memory, in which the first transactions fail. */
class Table {
  readonly items = new Map<string, Record<string, { S: string }>>();
  readonly writes: string[] = [];
  readonly name = 'meta';
  losses = 0;

  // biome-ignore lint/suspicious/noExplicitAny: commands are read as they are sent
  private readonly send = async ({ constructor: { name }, input }: any) => {
    if (name === 'GetItemCommand') return { Item: this.items.get(input.Key.sk.S) };
    this.writes.push(name);
    if (name !== 'TransactWriteItemsCommand') throw new Error(`${name} stands alone`);
    if (this.losses-- > 0)
      throw new TransactionCanceledException({
        $metadata: {},
        message: 'lost',
        CancellationReasons: [{ Code: 'ConditionalCheckFailed' }],
      });
    for (const { Put, Delete } of input.TransactItems as TransactWriteItem[]) {
      if (Put !== undefined) this.items.set(Put.Item!.sk!.S!, Put.Item as Record<string, { S: string }>);
      if (Delete !== undefined) this.items.delete(Delete.Key!.sk!.S!);
    }
    return {};
  };
  readonly client = { send: this.send } as unknown as DynamoDBClient;
}

test('a dashboard and its entry in the list come and go in one transaction', async () => {
  const table = new Table();
  const dashboards = new Dashboards(table);
  const { id } = await dashboards.create(TENANT, spec);
  expect([...table.items.keys()].sort()).toEqual([id, 'list'].sort());
  await expect(dashboards.create(TENANT, spec)).rejects.toThrow(TakenPathError);
  expect(await dashboards.remove(TENANT, id)).toMatchObject({ id, urlPath: 'shop' });
  expect([...table.items.keys()]).toEqual(['list']);
  expect(await dashboards.remove(TENANT, id)).toBeUndefined();
  await dashboards.create(TENANT, spec);
  expect(table.writes).toEqual(Array(3).fill('TransactWriteItemsCommand'));
});

test('a creation that loses its transaction draws another id', async () => {
  const table = new Table();
  table.losses = 1;
  const { id, urlPath } = await new Dashboards(table).create(TENANT, { ...spec, urlPath: undefined });
  expect(urlPath).toBe(id);
  expect([...table.items.keys()].sort()).toEqual([id, 'list'].sort());
});

describe('a dashboard that is replaced', () => {
  const table = new Table();
  const dashboards = new Dashboards(table, () => 1_700_000_000_999);

  test('has a later version each time, and is replaced only as the version that the client has read', async () => {
    const first = await dashboards.create(TENANT, spec);
    const second = await dashboards.replace(TENANT, first.id, { ...spec, title: 'b' }, first.updatedAt);
    const third = await dashboards.replace(TENANT, first.id, { ...spec, title: 'c' });
    expect([first, second, third].map((each) => each!.updatedAt)).toEqual([
      1_700_000_000, 1_700_000_001, 1_700_000_002,
    ]);
    await expect(dashboards.replace(TENANT, first.id, spec, first.updatedAt)).rejects.toThrow(
      new ChangedMeanwhileError(first.id, 1_700_000_000, 1_700_000_002),
    );
    expect(await dashboards.get(TENANT, first.id)).toEqual(third);
    expect(await dashboards.replace(TENANT, first.id, spec, third!.updatedAt)).toMatchObject(spec);
  });

  test('keeps its variables when a client does not send any, and loses them for an empty list', async () => {
    const variables = [{ name: 'job', query: 'label_values(job)' }];
    const { id } = await dashboards.create(TENANT, { title: 'v', widgets: [], variables });
    expect(await dashboards.replace(TENANT, id, { title: 'v2' })).toMatchObject({ title: 'v2', variables });
    expect(await dashboards.replace(TENANT, id, { title: 'v3', variables: [] })).toMatchObject({
      variables: [],
    });
    expect(await dashboards.replace(TENANT, id, { title: 'v4', variables: null })).not.toHaveProperty(
      'variables',
      variables,
    );
  });

  test('that is removed at the same time does not come back', async () => {
    const { id } = await dashboards.create(TENANT, { title: 'gone' });
    const get = dashboards.get.bind(dashboards);
    jest.spyOn(dashboards, 'get').mockImplementationOnce(async (tenantId, key) => {
      const stored = await get(tenantId, key);
      await dashboards.remove(TENANT, id);
      return stored;
    });
    expect(await dashboards.replace(TENANT, id, spec)).toBeUndefined();
    expect(await get(TENANT, id)).toBeUndefined();
  });

  test('by a client that knows no variables keeps those that another client stores at the same time', async () => {
    const { id } = await dashboards.create(TENANT, { title: 'both', urlPath: 'both' });
    const get = dashboards.get.bind(dashboards);
    const variables = [{ name: 'job', query: 'label_values(job)' }];
    jest.spyOn(dashboards, 'get').mockImplementationOnce(async (tenantId, key) => {
      const stored = await get(tenantId, key);
      await dashboards.replace(TENANT, id, { title: 'page', urlPath: 'moved', variables });
      return stored;
    });
    const replaced = await dashboards.replace(TENANT, id, { title: 'mkr' });
    expect(replaced).toMatchObject({ title: 'mkr', urlPath: 'moved', variables });
    expect(await get(TENANT, id)).toEqual(replaced);
  });
});
