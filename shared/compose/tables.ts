import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Cache } from '../model/cache';
import { type CallTimes, WORKING } from '../platform/call-time';
import { callDirectly, type ParsedAnswer } from '../platform/direct-call';
import { variable } from '../platform/environment';
import { ENV } from '../platform/names';
import type { Table } from '../platform/table';
import { chargeTables, meterTables } from '../platform/units';
import { bounded, requestHandler } from './bounded';

interface TableClient {
  readonly times: CallTimes;
  readonly answers: Cache<ParsedAnswer> | undefined;
  readonly client: DynamoDBClient;
}

/** A function's clients, one for both tables: calls of either use the same connections. */
const clients: TableClient[] = [];

function tableClient(times: CallTimes, answers?: Cache<ParsedAnswer>): DynamoDBClient {
  const known = clients.find((each) => each.times === times && each.answers === answers);
  if (known !== undefined) return known.client;
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
    answers,
  );
  clients.push({ times, answers, client });
  return client;
}

/** The table of everything that is not a chunk. */
export function metaTable(times: CallTimes = WORKING, answers?: Cache<ParsedAnswer>): Table {
  return { client: tableClient(times, answers), name: variable(ENV.metaTable) };
}

/** The table of chunks. */
export function warmTable(times: CallTimes = WORKING, answers?: Cache<ParsedAnswer>): Table {
  return { client: tableClient(times, answers), name: variable(ENV.warmTable) };
}
