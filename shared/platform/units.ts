import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { KinesisClient, PutRecordsInput } from '@aws-sdk/client-kinesis';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Redis } from 'ioredis';
import { type CountedUse, TABLE_CALLS } from './names';

/** Bytes in a put unit, by which Kinesis bills records. */
const STREAM_UNIT_BYTES = 25_000;
const WRITE_UNIT_BYTES = 1024;
/** Number of bytes that one DynamoDB read unit covers in a consistent read. */
export const READ_UNIT_BYTES = 4096;

export type StoreUnit = Exclude<CountedUse, 'FunctionMbMs'>;

/**
 * Units that this process has used, and calls that it has retried, since the last call of {@link takeUnits}. One
 * counter for the whole process is enough, because an instance handles one invocation at a time.
 */
const used = new Map<StoreUnit, number>();

/** Adds to the count of used units, or of retried calls. */
export function use(unit: StoreUnit, amount: number): void {
  used.set(unit, (used.get(unit) ?? 0) + amount);
}

/**
 * Starts counting units. Returns a function that returns the units used since this call. {@link takeUnits} is not
 * affected.
 */
export function countUnits(): () => ReadonlyMap<StoreUnit, number> {
  const before = new Map(used);
  return () => new Map(Array.from(used, ([unit, amount]) => [unit, amount - (before.get(unit) ?? 0)]));
}

/**
 * Returns the units used and the calls retried since the last call of this function, and starts counting from 0 again.
 */
export function takeUnits(): ReadonlyMap<StoreUnit, number> {
  const taken = new Map(used);
  used.clear();
  return taken;
}

/**
 * Makes a DynamoDB client count its read and write units. Each call counts the larger of two numbers: the units that
 * DynamoDB reports, and the units computed from the sizes of items. Neither is enough alone. Emulators report 1
 * whatever the size, and the sizes do not show how much data a deletion, a projection or a partial update touches.
 */
export function meterTables(client: DynamoDBClient): DynamoDBClient {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const input = { ...args.input, ReturnConsumedCapacity: 'TOTAL' as const };
        const sizes: TableInput = args.input as object;
        try {
          const result = await next({ ...args, input });
          countTableUnits(commandName, sizes, result.output as TableOutput);
          return result;
        } catch (error) {
          // DynamoDB bills a write whose condition fails like any other write.
          if ((error as Error).name === 'ConditionalCheckFailedException')
            countTableUnits(commandName, sizes, {});
          throw error;
        }
      },
    { step: 'initialize', name: 'units' },
  );
  return client;
}

/** Makes a Kinesis client count its put units, including the units of records that it sends again. */
export function meterStream(client: KinesisClient): KinesisClient {
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        countStreamUnits(commandName, args.input);
        return next(args);
      },
    { step: 'initialize', name: 'units' },
  );
  return client;
}

/** Counts the put units of a call, for calls that do not go through the client of {@link meterStream}. */
export function countStreamUnits(_commandName: string | undefined, input: object): void {
  if (!('Records' in input)) return;
  for (const { Data, PartitionKey } of (input as PutRecordsInput).Records ?? [])
    use('PutUnits', putUnitsOf(Data!.length + PartitionKey!.length));
}

/** Makes an S3 client count its requests, except deletions, which are free. */
export function meterObjects(client: S3Client): S3Client {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        if (/^(Put|Copy|List|Create|Upload|Complete)/.test(commandName)) use('ObjectPuts', 1);
        else if (/^(Get|Head)/.test(commandName)) use('ObjectGets', 1);
        return next(args);
      },
    { step: 'initialize', name: 'units' },
  );
  return client;
}

/** Makes a Redis client count its commands. A command that is sent twice counts twice. */
export function meterRedis<C extends Pick<Redis, 'sendCommand'>>(client: C): C {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (...args) => {
    use('RedisCalls', 1);
    return send(...args);
  };
  return client;
}

/** Returns the number of put units for a record of this size. */
export function putUnitsOf(bytes: number): number {
  return Math.ceil(bytes / STREAM_UNIT_BYTES);
}

/** A DynamoDB attribute value. Binary is bytes, as in the SDK, or base64 text, as in DynamoDB's JSON. */
export interface SizedValue {
  readonly B?: Uint8Array | string;
  readonly S?: string;
  readonly N?: string;
  readonly SS?: readonly string[];
  readonly NS?: readonly string[];
  readonly L?: readonly SizedValue[];
}

type Item = Readonly<Record<string, SizedValue>>;

/** The fields of a call's input from which its units are computed. */
interface TableInput {
  readonly Item?: Item;
  readonly Key?: Item;
  readonly ExpressionAttributeValues?: Item;
  readonly Statements?: readonly { readonly Parameters?: readonly SizedValue[] }[];
  readonly ConsistentRead?: boolean;
  readonly RequestItems?: Readonly<Record<string, { readonly Keys?: readonly Item[] | undefined }>>;
}

interface Capacity {
  readonly CapacityUnits?: number;
}

interface TableOutput {
  readonly Item?: Item;
  readonly Items?: readonly Item[];
  readonly ConsumedCapacity?: Capacity | readonly Capacity[];
}

/** Counts the units of a call, for calls that do not go through the client of {@link meterTables}. */
export function countTableUnits(
  commandName: string | undefined,
  input: TableInput,
  output: TableOutput,
): void {
  const said = [output.ConsumedCapacity ?? []]
    .flat()
    .reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
  use(TABLE_CALLS, 1);
  switch (commandName) {
    case 'GetItemCommand':
    case 'QueryCommand':
    case 'ScanCommand':
      use('ReadUnits', Math.max(said, readUnitsOf(input, output)));
      break;
    case 'BatchGetItemCommand':
      // Each key takes at least one unit, whether its item exists or not.
      for (const { Keys = [] } of Object.values(input.RequestItems ?? {}))
        use('ReadUnits', Math.max(said, Keys.length));
      break;
    case 'PutItemCommand':
    case 'UpdateItemCommand':
    case 'DeleteItemCommand':
    case 'BatchExecuteStatementCommand':
      use('WriteUnits', Math.max(said, writeUnitsOf(input)));
  }
}

/** Computes read units from sizes: one for each 4 KB, rounded up; half of that if the read is not consistent. */
export function readUnitsOf(
  { ConsistentRead = false }: TableInput,
  { Item, Items = [] }: TableOutput,
): number {
  const bytes = Item === undefined ? Items.reduce((sum, item) => sum + itemBytes(item), 0) : itemBytes(Item);
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (ConsistentRead ? 1 : 0.5);
}

/** Computes write units from sizes: one for each 1 KB, rounded up for each item. */
export function writeUnitsOf({ Item, Key, ExpressionAttributeValues, Statements }: TableInput): number {
  const items: readonly Item[] = Statements?.map(({ Parameters = [] }) =>
    Object.fromEntries(Parameters.entries()),
  ) ?? [{ ...Key, ...ExpressionAttributeValues, ...Item }];
  return items.reduce((sum, item) => sum + Math.max(1, Math.ceil(itemBytes(item) / WRITE_UNIT_BYTES)), 0);
}

/**
 * Returns the approximate size for which DynamoDB bills an item.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) bytes += name.length + valueBytes(value);
  return bytes;
}

function valueBytes(value: SizedValue): number {
  if (typeof value.B === 'string') return Buffer.byteLength(value.B, 'base64');
  if (value.B !== undefined) return value.B.length;
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return numberBytes(value.N);
  if (value.SS !== undefined) return value.SS.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (value.NS !== undefined) return value.NS.reduce((sum, number) => sum + numberBytes(number), 0);
  if (value.L !== undefined) return value.L.reduce((sum, each) => sum + 1 + valueBytes(each), 3);
  return 1;
}

/** Returns the size of a number attribute, in bytes: one for every two significant digits, plus one. */
function numberBytes(text: string): number {
  return Math.ceil(text.replace(/^-?0*|[-.]/g, '').length / 2) + 1;
}
