import {
  BatchExecuteStatementCommand,
  BatchGetItemCommand,
  DeleteItemCommand,
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
import { countTableUnits, meterTables } from '../platform/units';
import { boundCalls, requestHandler } from './bounded';

interface TableClient {
  readonly times: CallTimes;
  readonly client: DynamoDBClient;
}

/**
 * DynamoDB clients of this instance, one for each set of time limits. Both tables share a client and its connections.
 */
const clients: TableClient[] = [];

function tableClient(times: CallTimes): DynamoDBClient {
  const known = clients.find((each) => each.times === times);
  if (known !== undefined) return known.client;
  const options = { maxAttempts: 5, cacheMiddleware: true, requestHandler: requestHandler(times) };
  const client = callDirectly(
    boundCalls(meterTables(new DynamoDBClient(options)), times),
    'dynamodb',
    {
      BatchExecuteStatement: BatchExecuteStatementCommand,
      BatchGetItem: BatchGetItemCommand,
      DeleteItem: DeleteItemCommand,
      GetItem: GetItemCommand,
      PutItem: PutItemCommand,
      Query: QueryCommand,
      UpdateItem: UpdateItemCommand,
    },
    countTableUnits,
  );
  clients.push({ times, client });
  return client;
}

/** Returns the meta table, which has everything except chunks. */
export function metaTable(times: CallTimes = WORKING): Table {
  return { client: tableClient(times), name: variable(ENV.metaTable) };
}

/** Returns the warm table, which has chunks. */
export function warmTable(times: CallTimes = WORKING): Table {
  return { client: tableClient(times), name: variable(ENV.warmTable) };
}
