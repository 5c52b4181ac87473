import {
  type AttributeValue,
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  type BatchGetItemCommandInput,
  type BatchGetItemCommandOutput,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  paginateQuery,
  type QueryCommandInput,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import { partsOf } from '../model/parts';
import { mapLimited } from './concurrency';
import type { ItemKey } from './keys';

/** One of the two DynamoDB tables, with the client that reaches it. */
export interface Table {
  readonly client: DynamoDBClient;
  readonly name: string;
}

export type Item = Record<string, AttributeValue>;

type QueryInput = Omit<QueryCommandInput, 'TableName' | 'ConsistentRead'>;

function pagesOf({ client, name }: Table, input: QueryInput) {
  return paginateQuery({ client }, { ...input, TableName: name, ConsistentRead: true });
}

/** Reads every item of a query, over all pages. Reads are always consistent (DESIGN.md, rule 5). */
export async function* queryAll(table: Table, input: QueryInput): AsyncGenerator<Item> {
  for await (const page of pagesOf(table, input)) yield* page.Items ?? [];
}

/**
 * The same as {@link queryAll}, as an array. A generator costs a turn of the microtask queue for each item.
 */
export async function queryItems(table: Table, input: QueryInput): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pagesOf(table, input)) for (const item of page.Items ?? []) items.push(item);
  return items;
}

/** Most keys of one BatchGetItem, by DynamoDB's limit. */
const MAX_KEYS = 100;
const GET_PARALLEL = 16;

/**
 * Reads items by key, consistently and unordered. Keys must be distinct; items that do not exist are omitted.
 *
 * @param ProjectionExpression the wanted attributes; undefined: all
 */
export async function getItems(
  { client, name }: Table,
  keys: readonly ItemKey[],
  ProjectionExpression?: string,
): Promise<Item[]> {
  const found = await mapLimited(partsOf(keys, MAX_KEYS), GET_PARALLEL, async (Keys) => {
    const items: Item[] = [];
    let RequestItems: BatchGetItemCommandInput['RequestItems'] = {
      [name]: { Keys, ConsistentRead: true, ProjectionExpression },
    };
    while (RequestItems?.[name] !== undefined) {
      const answer: BatchGetItemCommandOutput = await client.send(new BatchGetItemCommand({ RequestItems }));
      items.push(...(answer.Responses?.[name] ?? []));
      RequestItems = answer.UnprocessedKeys;
    }
    return items;
  });
  return found.flat();
}

/** Most statements of one batch, by DynamoDB's limit. */
const MAX_STATEMENTS = 25;
const INSERT_PARALLEL = 32;

/** Outcome of inserting an item. A refused item can be put singly, to learn the reason. */
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
    partsOf(statements, MAX_STATEMENTS),
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

const DELETE_BATCH = 500;
const DELETE_PARALLEL = 32;

/**
 * Deletes items.
 *
 * @param items keys of the items: `pk` and `sk`
 * @param hasTime asked before each batch
 * @returns the number of deleted items; `isDone` is false when time was up first
 */
export async function deleteItems(
  table: Table,
  items: AsyncIterable<Item>,
  hasTime: () => boolean,
): Promise<{ items: number; isDone: boolean }> {
  let deleted = 0;
  let batch: Item[] = [];
  const deleteBatch = async () => {
    await mapLimited(batch, DELETE_PARALLEL, ({ pk, sk }) =>
      table.client.send(new DeleteItemCommand({ TableName: table.name, Key: { pk: pk!, sk: sk! } })),
    );
    deleted += batch.length;
    batch = [];
  };
  for await (const item of items) {
    batch.push(item);
    if (batch.length < DELETE_BATCH) continue;
    if (!hasTime()) return { items: deleted, isDone: false };
    await deleteBatch();
  }
  if (batch.length > 0) {
    if (!hasTime()) return { items: deleted, isDone: false };
    await deleteBatch();
  }
  return { items: deleted, isDone: true };
}

/** Awaits a conditional write. Returns false if its condition did not hold; throws any other failure. */
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
 * Awaits a conditional write, or a transaction of such writes. Returns false if a condition did not hold, or
 * another transaction was changing one of the items: then nothing was written. Throws any other failure.
 */
export async function wins(write: Promise<unknown>): Promise<boolean> {
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
