import { DynamoDBClient, PutItemCommand, type QueryCommand } from '@aws-sdk/client-dynamodb';
import type { Table } from '../../../shared/platform/table';
import type { RecoveryTable } from '../../../shared/recovery/recovery-table';
import { type RedriveEntry, TableRedriveLedger } from '../../../shared/recovery/redrive-ledger';

/** A table that keeps items in an array. */
function tableOf(items: object[]): Table {
  const send = async (command: PutItemCommand | QueryCommand) => {
    if (command instanceof PutItemCommand) items.push(command.input.Item!);
    return { Items: items };
  };
  return { name: 'meta', client: Object.assign(new DynamoDBClient({ region: 'us-east-1' }), { send }) };
}

const ledgerOf = (items: object[]) => new TableRedriveLedger(tableOf(items), {} as RecoveryTable, 1);

test.each<RedriveEntry>([
  { appended: undefined, refusals: 3 },
  { appended: { watermarkMs: 1_000, notices: 0 }, refusals: 0 },
  { appended: { watermarkMs: 2_000, notices: 4 }, refusals: 1 },
])('the ledger of redrives returns the entry %j as it was put', async (entry) => {
  const ledger = ledgerOf([]);
  await ledger.put('quarantine/shard-0/1', entry);
  expect(await ledger.entries()).toEqual(new Map([['quarantine/shard-0/1', entry]]));
});

test('an entry of a former release, whose redrive had not appended, has nothing appended and no refusals', async () => {
  const items = [
    {
      pk: { S: 'recovery' },
      sk: { S: 'redriven#aws/lambda/1' },
      watermarkMs: { N: '0' },
      notices: { N: '-1' },
    },
  ];
  expect(await ledgerOf(items).entries()).toEqual(
    new Map([['aws/lambda/1', { appended: undefined, refusals: 0 }]]),
  );
});
