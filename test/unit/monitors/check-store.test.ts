import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EvaluatorStore } from '../../../shared/alerting/tasks/evaluator-store';
import { idOf } from '../../../shared/model/id';
import { checkIdOf, newCheck } from '../../../shared/monitors/check-report';
import { CheckStore } from '../../../shared/monitors/check-store';

const TENANT = { id: idOf('tenant', 'acme'), name: 'acme' };
const HOST = 'h1';

test('an alert that opens while its check is removed from the list keeps the check', async () => {
  const check = newCheck(HOST, 'procs');
  const alert = {
    id: 'a1',
    status: 'CRITICAL',
    openedAtMs: 1,
    changedAtMs: 1,
    notifiedAtMs: 1,
    wasCritical: true,
  };
  const item = (value: object) => ({
    sk: { S: check.id },
    json: { S: JSON.stringify(value) },
    revision: { S: 'r' },
  });
  const writes: string[] = [];
  const send = async ({ constructor: { name } }: object) => {
    // The list is older than the report that opened the alert.
    if (name === 'QueryCommand') return { Items: [item(check)] };
    if (name === 'GetItemCommand')
      return { Item: item({ ...check, track: { key: '', attempts: 1, alert } }) };
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
