import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EvaluatorStore } from '../../../shared/alerting/tasks/evaluator-store';
import { idOf } from '../../../shared/model/id';
import { checkIdOf, newCheck } from '../../../shared/monitors/check-report';
import { CheckStore } from '../../../shared/monitors/check-store';

const TENANT = { id: idOf('tenant', 'acme'), name: 'acme' };
const HOST = 'h1';

const check = newCheck(HOST, 'procs');
const item = (value: object) => ({
  sk: { S: check.id },
  json: { S: JSON.stringify(value) },
  revision: { S: 'r' },
});

const alertAt = (ms: number) => ({
  id: 'a1',
  status: 'CRITICAL',
  openedAtMs: ms,
  changedAtMs: ms,
  notifiedAtMs: ms,
  wasCritical: true,
});

test('an alert that opens while its check is removed from the list keeps the check', async () => {
  const writes: string[] = [];
  const send = async ({ constructor: { name } }: object) => {
    // The list is older than the report that opened the alert.
    if (name === 'QueryCommand') return { Items: [item(check)] };
    if (name === 'GetItemCommand')
      return { Item: item({ ...check, track: { key: '', attempts: 1, alert: alertAt(1) } }) };
    writes.push(name);
    return {};
  };
  const table = {
    name: 'meta',
    // The paginator requires an instance of the class.
    client: Object.assign(Object.create(DynamoDBClient.prototype), { send }) as DynamoDBClient,
  };
  await new CheckStore(table, new EvaluatorStore(table)).setListed(TENANT, HOST, []);
  expect(check.id).toBe(checkIdOf(HOST, 'procs'));
  expect(writes).toEqual([]);
});

test('an alert that an instance closes is closed after it opened, although the clock of that instance is behind', async () => {
  const send = async ({ constructor: { name } }: object) =>
    name === 'GetItemCommand'
      ? { Item: item({ ...check, track: { key: '', attempts: 1, alert: alertAt(5_000) } }) }
      : {};
  const table = { name: 'meta', client: { send } as unknown as DynamoDBClient };
  const store = new CheckStore(table, new EvaluatorStore(table), () => 3_000);
  const event = await store.close(TENANT, check.id, 'a1', 'done', undefined);
  expect(event).toMatchObject({ kind: 'closed', atMs: 5_001 });
});
