import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type CallTimes, WORKING } from '../platform/call-time';
import { callDirectly } from '../platform/direct-call';
import { variable } from '../platform/environment';
import { ENV } from '../platform/names';
import type { Table } from '../platform/table';
import { chargeTables, meterTables } from '../platform/units';
import { bounded, requestHandler } from './bounded';

/** One client for both tables, as a function's calls of either open the same connections. */
const clients = new Map<CallTimes, DynamoDBClient>();

function tableClient(times: CallTimes): DynamoDBClient {
  const known = clients.get(times);
  if (known !== undefined) return known;
  const options = { maxAttempts: 5, cacheMiddleware: true, requestHandler: requestHandler(times) };
  const client = callDirectly(
    bounded(meterTables(new DynamoDBClient(options)), times),
    'dynamodb',
    {
      BatchExecuteStatement: BatchExecuteStatementCommand,
      BatchGetItem: BatchGetItemCommand,
      GetItem: GetItemCommand,
      PutItem: PutItemCommand,
      Query: QueryCommand,
      UpdateItem: UpdateItemCommand,
    },
    chargeTables,
  );
  clients.set(times, client);
  return client;
}

/** The table of everything that is not a chunk. */
export function metaTable(times: CallTimes = WORKING): Table {
  return { client: tableClient(times), name: variable(ENV.metaTable) };
}

/** The table of chunks. */
export function warmTable(times: CallTimes = WORKING): Table {
  return { client: tableClient(times), name: variable(ENV.warmTable) };
}
