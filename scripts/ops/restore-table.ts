import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteTableCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceNotFoundException,
  RestoreTableToPointInTimeCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { OperatorError } from './invoke';

const LOOK_MS = 15_000;
/** Maximum duration of a restore, in ms. According to AWS, most restores take less than an hour. */
const RESTORE_MS = 2 * 3_600_000;

/**
 * Tests the backup of a table: restores it under a new name, looks for an item in the restored table, and deletes the
 * restored table. First deletes any table that an interrupted run has left under the new name.
 *
 * @returns duration of the restore in seconds; undefined if the table has no point-in-time recovery
 * @throws {OperatorError} also if the restored table is empty
 */
export async function restoreTable(
  source: string,
  target: string,
  progress: (line: string) => void,
): Promise<number | undefined> {
  const client = new DynamoDBClient({});
  try {
    const { ContinuousBackupsDescription: backups } = await client.send(
      new DescribeContinuousBackupsCommand({ TableName: source }),
    );
    if (backups?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus !== 'ENABLED') return undefined;
    await remove(client, target);
    const startedMs = Date.now();
    progress(`restoring ${source} as ${target}, which takes 20 minutes or more`);
    await client.send(
      new RestoreTableToPointInTimeCommand({
        SourceTableName: source,
        TargetTableName: target,
        UseLatestRestorableTime: true,
      }),
    );
    try {
      await until(client, target, 'ACTIVE', progress);
      const { Items = [] } = await client.send(new ScanCommand({ TableName: target, Limit: 1 }));
      if (Items.length === 0)
        throw new OperatorError(
          `the restored table ${target} is empty; a table can be restored as it was five minutes ago, so repeat this later`,
        );
      return Math.round((Date.now() - startedMs) / 1000);
    } finally {
      await remove(client, target);
    }
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause;
    throw new OperatorError(`DynamoDB: ${(cause as Error).message || (cause as Error).name}`, { cause });
  } finally {
    client.destroy();
  }
}

/** Deletes a table, and waits until it is gone. */
async function remove(client: DynamoDBClient, table: string): Promise<void> {
  const state = await statusOf(client, table);
  if (state === undefined) return;
  if (state === 'CREATING')
    throw new OperatorError(
      `${table} is still being restored: once it is ACTIVE, aws dynamodb delete-table --table-name ${table}`,
    );
  if (state !== 'DELETING') await client.send(new DeleteTableCommand({ TableName: table }));
  await until(client, table, undefined, () => {});
}

async function until(
  client: DynamoDBClient,
  table: string,
  wanted: string | undefined,
  progress: (line: string) => void,
): Promise<void> {
  const startedMs = Date.now();
  for (;;) {
    const state = await statusOf(client, table);
    if (state === wanted) return;
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    if (seconds * 1000 > RESTORE_MS) throw new OperatorError(`${table} is ${state} after ${seconds} s`);
    if (seconds > 0) progress(`${table} is ${state} after ${seconds} s`);
    await sleep(LOOK_MS);
  }
}

async function statusOf(client: DynamoDBClient, TableName: string): Promise<string | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table?.TableStatus;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return undefined;
    throw error;
  }
}
