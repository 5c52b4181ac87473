import {
  BatchExecuteStatementCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { callDirectly } from '../platform/direct-call';
import { variable } from '../platform/environment';
import { ENV } from '../platform/names';
import type { Table } from '../platform/table';
import { chargeTables, meterTables } from '../platform/units';

/** One client for both tables, made when a function starts. */
const dynamodb = callDirectly(
  meterTables(new DynamoDBClient({ maxAttempts: 5, cacheMiddleware: true })),
  'dynamodb',
  {
    BatchExecuteStatement: BatchExecuteStatementCommand,
    GetItem: GetItemCommand,
    PutItem: PutItemCommand,
    Query: QueryCommand,
    UpdateItem: UpdateItemCommand,
  },
  chargeTables,
);

/** The table of everything that is not a chunk. */
export function metaTable(): Table {
  return { client: dynamodb, name: variable(ENV.metaTable) };
}

/** The table of chunks. */
export function warmTable(): Table {
  return { client: dynamodb, name: variable(ENV.warmTable) };
}
