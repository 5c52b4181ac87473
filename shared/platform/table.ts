import {
  type AttributeValue,
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type BatchGetItemCommandInput,
  type BatchGetItemCommandOutput,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DeleteItemCommandInput,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  type PutItemCommandInput,
  paginateQuery,
  type QueryCommandInput,
  TransactionCanceledException,
  TransactionConflictException,
  UpdateItemCommand,
  type UpdateItemCommandInput,
  type UpdateItemCommandOutput,
} from '@aws-sdk/client-dynamodb';
import { slicesAsRead, slicesOf } from '../model/slices';
import { mapLimited } from './concurrency';
import type { ItemKey } from './keys';

/** One of the two DynamoDB tables, with its client. */
export interface Table {
  readonly client: DynamoDBClient;
  readonly name: string;
}

export type Item = Record<string, AttributeValue>;

/**
 * Selects items of one partition key: all items, the items whose sort key has a prefix, or the items in an
 * inclusive range of sort keys.
 */
export type KeyRange =
  | { readonly pk: string; readonly prefix?: string | undefined }
  | { readonly pk: string; readonly from: string; readonly to: string };

type QueryOptions = Partial<
  Omit<QueryCommandInput, 'TableName' | 'KeyConditionExpression' | 'ConsistentRead'>
>;

function pagesOf({ client, name }: Table, range: KeyRange, options: QueryOptions) {
  const { condition, values } = sortCondition(range);
  return paginateQuery(
    { client },
    {
      ...options,
      TableName: name,
      ConsistentRead: true,
      KeyConditionExpression: `pk = :pk${condition}`,
      ExpressionAttributeValues: { ...options.ExpressionAttributeValues, ':pk': { S: range.pk }, ...values },
    },
  );
}

function sortCondition(range: KeyRange): { readonly condition: string; readonly values: Item } {
  if ('from' in range) {
    const values = { ':from': { S: range.from }, ':to': { S: range.to } };
    return { condition: ' AND sk BETWEEN :from AND :to', values };
  }
  const { prefix = '' } = range;
  if (prefix === '') return { condition: '', values: {} };
  return { condition: ' AND begins_with(sk, :prefix)', values: { ':prefix': { S: prefix } } };
}

/** Yields every item of a query, from all of its pages. Reads are always consistent (DESIGN.md, rule 5). */
export async function* queryAll(
  table: Table,
  range: KeyRange,
  options: QueryOptions = {},
): AsyncGenerator<Item> {
  for await (const page of pagesOf(table, range, options)) yield* page.Items ?? [];
}

/**
 * Returns every item of a query as an array, and so holds all of them at once. It is faster than {@link queryAll},
 * whose generator awaits each item.
 */
export async function queryItems(table: Table, range: KeyRange, options: QueryOptions = {}): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pagesOf(table, range, options))
    for (const item of page.Items ?? []) items.push(item);
  return items;
}

/** Reads an item by its key, with a consistent read. Returns undefined if it does not exist. */
export async function getItem({ client, name }: Table, Key: ItemKey): Promise<Item | undefined> {
  const { Item } = await client.send(new GetItemCommand({ TableName: name, Key, ConsistentRead: true }));
  return Item;
}

/** Writes an item, whether or not its key exists. */
export async function putItem({ client, name }: Table, item: Item): Promise<void> {
  await client.send(new PutItemCommand({ TableName: name, Item: item }));
}

/** Deletes an item, which need not exist. */
export async function deleteItem({ client, name }: Table, Key: ItemKey): Promise<void> {
  await client.send(new DeleteItemCommand({ TableName: name, Key }));
}

type Write<Input> = Omit<Input, 'TableName'>;

/** Writes an item if its `ConditionExpression` holds. If it does not hold, changes nothing and returns false. */
export function putItemIf({ client, name }: Table, input: Write<PutItemCommandInput>): Promise<boolean> {
  return succeeds(client.send(new PutItemCommand({ ...input, TableName: name })));
}

/** Deletes an item if its `ConditionExpression` holds. If it does not hold, changes nothing and returns false. */
export function deleteItemIf(
  { client, name }: Table,
  input: Write<DeleteItemCommandInput>,
): Promise<boolean> {
  return succeeds(client.send(new DeleteItemCommand({ ...input, TableName: name })));
}

/** Updates an item, or creates it. Throws if it has a `ConditionExpression` that does not hold. */
export function updateItem(
  { client, name }: Table,
  {
    abortSignal,
    ...input
  }: Write<UpdateItemCommandInput> & { readonly abortSignal?: AbortSignal | undefined },
): Promise<UpdateItemCommandOutput> {
  return client.send(new UpdateItemCommand({ ...input, TableName: name }), { abortSignal });
}

/** Updates an item if its `ConditionExpression` holds. If it does not hold, changes nothing and returns false. */
export function updateItemIf(table: Table, input: Write<UpdateItemCommandInput>): Promise<boolean> {
  return succeeds(updateItem(table, input));
}

/** Maximum number of keys in a BatchGetItem, a limit of DynamoDB. */
const MAX_KEYS = 100;
/** Maximum number of concurrent BatchGetItem calls. */
const GET_PARALLEL = 16;

/**
 * Reads items by their keys, with consistent reads. Returns the items that exist, in any order.
 *
 * @param keys distinct keys
 * @param ProjectionExpression the attributes to read; undefined reads all
 */
export async function getItems(
  { client, name }: Table,
  keys: readonly ItemKey[],
  ProjectionExpression?: string,
): Promise<Item[]> {
  const found = await mapLimited(slicesOf(keys, MAX_KEYS), GET_PARALLEL, async (Keys) => {
    const items: Item[] = [];
    let RequestItems: BatchGetItemCommandInput['RequestItems'] = {
      [name]: { Keys, ConsistentRead: true, ProjectionExpression },
    };
    while (RequestItems?.[name] !== undefined) {
      const output: BatchGetItemCommandOutput = await client.send(new BatchGetItemCommand({ RequestItems }));
      items.push(...(output.Responses?.[name] ?? []));
      RequestItems = output.UnprocessedKeys;
    }
    return items;
  });
  return found.flat();
}

/** Maximum number of statements in a batch, a limit of DynamoDB. */
const MAX_STATEMENTS = 25;
/** Maximum number of concurrent batches of statements. */
const INSERT_PARALLEL = 32;

/** The outcome of inserting an item. If it is `refused`, putting the item separately returns DynamoDB's reason. */
export type Insertion = 'inserted' | 'exists' | 'refused';

/**
 * Inserts each item unless its key exists.
 *
 * @returns an outcome for each item
 */
export async function insertItems(table: Table, items: readonly Item[]): Promise<Insertion[]> {
  const statements = items.map((item) => {
    const names = Object.keys(item);
    return {
      Statement: `INSERT INTO "${table.name}" VALUE {${names.map((name) => `'${name}': ?`).join(', ')}}`,
      Parameters: names.map((name) => item[name]!),
    };
  });
  const outcomes = await mapLimited(
    slicesOf(statements, MAX_STATEMENTS),
    INSERT_PARALLEL,
    async (Statements) => {
      const { Responses } = await table.client.send(new BatchExecuteStatementCommand({ Statements }));
      return Statements.map((_, i): Insertion => {
        const response = Responses?.[i];
        if (response !== undefined && response.Error === undefined) return 'inserted';
        return response?.Error?.Code === 'DuplicateItem' ? 'exists' : 'refused';
      });
    },
  );
  return outcomes.flat();
}

/** Number of items that are deleted between two calls of `hasTime`. */
const DELETE_SLICE = 500;
/** Maximum number of concurrent deletions. */
const DELETE_PARALLEL = 32;

/**
 * Deletes items.
 *
 * @param items the items to delete, of which only `pk` and `sk` are needed
 * @param hasTime called before each slice; if it returns false, the call ends
 * @returns number of deleted items, and whether all are deleted
 */
export async function deleteItems(
  table: Table,
  items: AsyncIterable<Item>,
  hasTime: () => boolean,
): Promise<{ items: number; isDone: boolean }> {
  let deleted = 0;
  for await (const slice of slicesAsRead(items, DELETE_SLICE)) {
    if (!hasTime()) return { items: deleted, isDone: false };
    await mapLimited(slice, DELETE_PARALLEL, ({ pk, sk }) =>
      table.client.send(new DeleteItemCommand({ TableName: table.name, Key: { pk: pk!, sk: sk! } })),
    );
    deleted += slice.length;
  }
  return { items: deleted, isDone: true };
}

/** Awaits a conditional write. Returns false if its condition did not hold. Throws any other error. */
export async function succeeds(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

/**
 * Awaits a conditional write, or a transaction of conditional writes. Returns false if nothing was written because a
 * condition did not hold, or because another transaction was changing one of the items. Throws any other error.
 */
export async function tryWrite(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (isLost(error)) return false;
    throw error;
  }
}

function isLost(error: unknown): boolean {
  if (error instanceof TransactionCanceledException)
    return (error.CancellationReasons ?? []).some(
      ({ Code }) => Code === 'ConditionalCheckFailed' || Code === 'TransactionConflict',
    );
  return error instanceof ConditionalCheckFailedException || error instanceof TransactionConflictException;
}
