import {
  type DynamoDBClient,
  TransactionCanceledException,
  type TransactWriteItem,
} from '@aws-sdk/client-dynamodb';
import { idOf } from '../../../shared/model/id';
import type { DashboardSpec } from '../../../shared/registry/dashboard';
import { Dashboards, TakenPathError } from '../../../shared/registry/dashboards';

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
        ...{ $metadata: {}, message: 'lost' },
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
