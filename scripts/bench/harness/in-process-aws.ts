/**
 * Replaces `@smithy/node-http-handler` in the measured bundles: maps in this process stand in for Kinesis and DynamoDB.
 * The SDK runs unchanged up to its socket, including serializing, signing and parsing. There is no network and no
 * emulator, because the benchmark would measure their speed.
 */

import { type Given, holds, type Item, updated, type Value } from '../../simulate/expressions';
import { writeUnitsOfCall } from './write-units';

interface Request {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** A record of PutRecords. */
export interface PutRecord {
  readonly PartitionKey: string;
  /** The record's bytes in base64. */
  readonly Data: string;
}

/** Records that were put into the stream and have not been taken from it. */
export const streamed: PutRecord[] = [];
/** CPU time of this stand-in in ms, which measurements subtract, and the write units that DynamoDB would bill. */
export const spent = { cpuMs: 0, writeUnits: 0 };

/**
 * Items as JSON, by sort key. Most collections have a single item, which is stored without a map, because a million
 * maps take 300 MB.
 */
type Collection = Map<string, string> | readonly [sort: string, json: string];

/** Collections by partition key. */
const items = new Map<string, Collection>();
let defaultItem: (key: Item) => Item | undefined = () => undefined;

export function putItem(item: Item): void {
  const [pk, sk] = [text(item.pk), text(item.sk)];
  const json = JSON.stringify(item);
  const collection = items.get(pk);
  if (collection instanceof Map) collection.set(sk, json);
  else if (collection === undefined || collection[0] === sk) items.set(pk, [sk, json]);
  else items.set(pk, new Map([collection, [sk, json]]));
}

/** Defines the item that a look-up finds if none has been stored. */
export function setDefaultItem(make: (key: Item) => Item | undefined): void {
  defaultItem = make;
}

function itemOf(key: Item): Item | undefined {
  const collection = items.get(text(key.pk));
  const sk = text(key.sk);
  const json =
    collection instanceof Map ? collection.get(sk) : collection?.[0] === sk ? collection[1] : undefined;
  return json === undefined ? undefined : (JSON.parse(json) as Item);
}

function itemsOf(pk: string): Item[] {
  const collection = items.get(pk) ?? new Map<string, string>();
  const all = collection instanceof Map ? [...collection.values()] : [collection[1]];
  return all.map((json) => JSON.parse(json) as Item);
}

function text(attribute: Value | undefined): string {
  return attribute!.S as string;
}

const OPERATIONS: Record<string, (input: never) => unknown> = {
  PutRecords: ({ Records }: { Records: PutRecord[] }) => {
    streamed.push(...Records);
    return {
      FailedRecordCount: 0,
      Records: Records.map(() => ({ SequenceNumber: '1', ShardId: 'shard-0' })),
    };
  },
  GetItem: ({ Key }: { Key: Item }) => ({ Item: itemOf(Key) ?? defaultItem(Key) }),
  BatchGetItem: ({ RequestItems }: { RequestItems: Record<string, { Keys: Item[] }> }) => ({
    Responses: Object.fromEntries(
      Object.entries(RequestItems).map(([table, { Keys }]) => [
        table,
        Keys.flatMap((key) => itemOf(key) ?? []),
      ]),
    ),
  }),
  PutItem: (input: { Item: Item } & Conditional) => {
    check(input, itemOf(input.Item));
    putItem(input.Item);
    return {};
  },
  UpdateItem: (input: { Key: Item; UpdateExpression: string } & Conditional) => {
    const item = itemOf(input.Key);
    check(input, item);
    const result = updated(input.UpdateExpression, item ?? input.Key, input);
    putItem(result);
    return { Attributes: result };
  },
  BatchExecuteStatement: ({ Statements }: { Statements: { Statement: string; Parameters: Value[] }[] }) => ({
    Responses: Statements.map(({ Statement, Parameters }) => {
      const names = [...Statement.matchAll(/'(\w+)': ?\?/g)].map(([, name]) => name!);
      const item: Item = Object.fromEntries(names.map((name, i) => [name, Parameters[i]!]));
      if (itemOf(item) !== undefined) return { Error: { Code: 'DuplicateItem' } };
      putItem(item);
      return {};
    }),
  }),
  Query: (input: { KeyConditionExpression: string; FilterExpression?: string } & Given) => {
    const { KeyConditionExpression: key, FilterExpression: filter } = input;
    const collection = itemsOf(text(input.ExpressionAttributeValues![':pk']));
    return {
      Items: collection.filter(
        (item) => holds(key, item, input) && (filter === undefined || holds(filter, item, input)),
      ),
    };
  },
};

type Conditional = { readonly ConditionExpression?: string } & Given;

/** @throws Refusal if the stored item does not fulfil the request's condition */
function check(input: Conditional, stored: Item | undefined): void {
  if (input.ConditionExpression !== undefined && !holds(input.ConditionExpression, stored ?? {}, input))
    throw new Refusal('ConditionalCheckFailedException');
}

const DECODER = new TextDecoder();

class Refusal extends Error {}

/**
 * Ends the process. Otherwise the functions would take the error for an outage of AWS and retry forever, so the
 * benchmark would never end.
 */
function abort(error: unknown): never {
  console.error(error);
  process.exit(1);
}

/**
 * The SDK's request handler.
 *
 * @public
 */
export class NodeHttpHandler {
  readonly metadata = { handlerProtocol: 'http/1.1' };

  static create(): NodeHttpHandler {
    return new NodeHttpHandler();
  }

  async handle({ headers, body }: Request) {
    const cpuBefore = process.threadCpuUsage();
    const operation = headers['x-amz-target']!.split('.')[1]!;
    const run = OPERATIONS[operation];
    if (run === undefined) abort(new Error(`the bench has no ${operation}`));
    let statusCode = 200;
    let output: unknown;
    try {
      const input = JSON.parse(typeof body === 'string' ? body : DECODER.decode(body)) as Record<
        string,
        unknown
      >;
      spent.writeUnits += writeUnitsOfCall(operation, input);
      output = run(input as never);
    } catch (error) {
      if (!(error instanceof Refusal)) abort(error);
      statusCode = 400;
      output = { __type: error.message, message: error.message };
    }
    const response = {
      statusCode,
      headers: { 'content-type': 'application/x-amz-json-1.0' },
      body: Buffer.from(JSON.stringify(output)),
    };
    const { user, system } = process.threadCpuUsage(cpuBefore);
    spent.cpuMs += (user + system) / 1000;
    return { response };
  }

  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): object {
    return {};
  }

  destroy(): void {}
}

/**
 * Kinesis' default handler, which is not used.
 *
 * @public
 */
export class NodeHttp2Handler extends NodeHttpHandler {}

/**
 * Reads a response's body, which is already complete.
 *
 * @public
 */
export async function streamCollector(body: Uint8Array): Promise<Uint8Array> {
  return body;
}
