import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import { EvaluatorStore } from '../../../shared/alerting/tasks/evaluator-store';
import { idOf } from '../../../shared/model/id';
import { Documents } from '../../../shared/registry/documents';

const TENANT = idOf('tenant', 'acme');
const metadata = { $metadata: {}, message: 'a transaction has the item' };
const conflict = new TransactionConflictException(metadata);
const cancelled = (Code: string) =>
  new TransactionCanceledException({ ...metadata, CancellationReasons: [{ Code: 'None' }, { Code }] });

/** A table whose first writes fail with these errors, one each. */
function tableFailing(...errors: Error[]) {
  const writes: string[] = [];
  const send = async ({ constructor: { name } }: object) => {
    if (name === 'GetItemCommand') return { Item: { json: { S: '"before"' }, revision: { S: 'r' } } };
    writes.push(name);
    const error = errors.shift();
    if (error !== undefined) throw error;
    return { Attributes: { json: { S: '"before"' } } };
  };
  return { table: { name: 'meta', client: { send } as unknown as DynamoDBClient }, writes };
}

afterEach(() => jest.restoreAllMocks());

describe('while a transaction has the document', () => {
  type Run = (documents: Documents<string>) => Promise<unknown>;
  const create: Run = (documents) => documents.create(TENANT, 'k', 'next');
  const createOrChange: Run = (documents) => documents.createOrChange(TENANT, 'k', () => 'next');
  const remove: Run = (documents) => documents.remove(TENANT, 'k');

  test.each([
    { name: 'create', run: create, gives: true },
    { name: 'createOrChange', run: createOrChange, gives: 'next' },
    { name: 'remove', run: remove, gives: 'before' },
  ])('$name tries again', async ({ run, gives }) => {
    const { table, writes } = tableFailing(conflict, conflict);
    expect(await run(new Documents(table, 'checks'))).toBe(gives);
    expect(writes).toHaveLength(3);
  });
});

test('a write whose transaction has a condition that never holds is given up, with a reason', async () => {
  const { table, writes } = tableFailing(...Array<Error>(1000).fill(cancelled('ConditionalCheckFailed')));
  const documents = new Documents<string>(table, 'checks');
  const also = [documents.replacement(TENANT, 'other', 'value')];
  jest.spyOn(Math, 'random').mockReturnValue(0);
  const write = documents.createOrChangeWith(TENANT, 'k', () => ({ value: 'next', also }));
  await expect(write).rejects.toThrow('checks k was not written in 100 attempts');
  expect(writes).toEqual(Array(100).fill('TransactWriteItemsCommand'));
});

describe('a write whose answer is lost', () => {
  /**
   * A table that reports a failed condition to its first writer, and nothing to remove to a remover, as happens to a
   * retry.
   */
  function forgetfulTable(stored?: string) {
    let item: Record<string, unknown> | undefined =
      stored === undefined ? undefined : { json: { S: stored }, revision: { S: 'r' } };
    let writes = 0;
    const send = async ({
      constructor: { name },
      input,
    }: {
      constructor: { name: string };
      input: never;
    }) => {
      if (name === 'GetItemCommand') return { Item: item };
      item = (input as { Item: typeof item }).Item;
      if (name === 'DeleteItemCommand') return {};
      if (++writes === 1) throw new ConditionalCheckFailedException(metadata);
      return {};
    };
    const table = { name: 'meta', client: { send } as unknown as DynamoDBClient };
    return { documents: new Documents<number>(table, 'checks'), writes: () => writes };
  }

  test('is not made again by a change', async () => {
    const { documents, writes } = forgetfulTable('1');
    expect(await documents.change(TENANT, 'k', (value) => value + 1)).toBe(2);
    expect(writes()).toBe(1);
    expect(await documents.get(TENANT, 'k')).toBe(2);
  });

  test('has created its document', async () => {
    const { documents } = forgetfulTable();
    expect(await documents.create(TENANT, 'k', 7)).toBe(true);
  });

  test('has removed its document', async () => {
    const { documents } = forgetfulTable('7');
    expect(await documents.remove(TENANT, 'k')).toBe(7);
    expect(await documents.remove(TENANT, 'k')).toBeUndefined();
  });
});

test('a key that another writer has taken is not created', async () => {
  const { table } = tableFailing(new ConditionalCheckFailedException(metadata));
  expect(await new Documents(table, 'checks').create(TENANT, 'k', 'next')).toBe(false);
});

describe('a conditional removal', () => {
  const changed = new ConditionalCheckFailedException(metadata);

  test('looks at the document again when another write changed it, or has it', async () => {
    const { table, writes } = tableFailing(changed, conflict);
    const seen: string[] = [];
    const removal = new Documents<string>(table, 'checks').removeIf(TENANT, 'k', (value) => {
      seen.push(value);
      return true;
    });
    expect(await removal).toBe(true);
    expect(seen).toEqual(['before', 'before', 'before']);
    expect(writes).toEqual(Array(3).fill('DeleteItemCommand'));
  });

  test('leaves a document that no longer satisfies the condition', async () => {
    const { table, writes } = tableFailing(changed);
    let looks = 0;
    const removal = new Documents<string>(table, 'checks').removeIf(TENANT, 'k', () => ++looks === 1);
    expect(await removal).toBe(false);
    expect(writes).toHaveLength(1);
  });
});

describe('a tick that loses to another writer is not committed', () => {
  const batch = Buffer.from('batch');
  const tick = {
    tenantId: TENANT,
    task: idOf('rule-group', 'g'),
    kind: 'rule' as const,
    afterMs: 1,
    tickMs: 2,
    state: batch,
  };

  test.each([
    {
      name: 'a transaction whose condition fails',
      error: cancelled('ConditionalCheckFailed'),
      batches: [batch],
    },
    { name: 'a transaction during another', error: cancelled('TransactionConflict'), batches: [batch] },
    { name: 'a put during a transaction', error: conflict, batches: [] },
  ])('$name', async ({ error, batches }) => {
    const { table } = tableFailing(error);
    expect(await new EvaluatorStore(table).commit({ ...tick, batches })).toBe(false);
  });

  test('other failures are thrown', async () => {
    const error = cancelled('ValidationError');
    const { table } = tableFailing(error);
    await expect(new EvaluatorStore(table).commit({ ...tick, batches: [batch] })).rejects.toBe(error);
  });
});
