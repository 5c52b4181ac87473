import { awsCall } from '../../../scripts/faults/aws-call';
import type { WholeRequest } from '../../../scripts/local/forward';

const request = (over: Partial<WholeRequest>): WholeRequest => ({
  method: 'POST',
  path: '/',
  headers: {},
  body: Buffer.of(),
  ...over,
});
const dynamodb = (operation: string, input: object) =>
  request({
    headers: { 'x-amz-target': `DynamoDB_20120810.${operation}` },
    body: Buffer.from(JSON.stringify(input)),
  });

describe('a request is named by its operation and its object', () => {
  test.each([
    {
      name: 'a chunk that is written',
      request: dynamodb('PutItem', { TableName: 'local-Warm', Item: { pk: { S: 't#0001#2026-11-21' } } }),
      call: { store: 'dynamodb', operation: 'PutItem warm', isChange: true },
    },
    {
      name: 'a flush that is announced',
      request: dynamodb('UpdateItem', {
        TableName: 'local-Meta',
        Key: { pk: { S: 'manifest#t#0001' }, sk: { S: '2026-11-21' } },
        UpdateExpression: 'ADD changes :one',
      }),
      call: { operation: 'UpdateItem manifest ADD changes', isChange: true },
    },
    {
      name: "one of recovery's items, by its sort key",
      request: dynamodb('PutItem', { Item: { pk: { S: 'recovery' }, sk: { S: 'watermark#shard-1' } } }),
      call: { operation: 'PutItem recovery watermark', isChange: true },
    },
    {
      name: 'a read',
      request: dynamodb('GetItem', { Key: { pk: { S: 'recovery' }, sk: { S: 'loss' } } }),
      call: { operation: 'GetItem recovery loss', isChange: false },
    },
    {
      name: 'records for the stream',
      request: request({ headers: { 'x-amz-target': 'Kinesis_20131202.PutRecords' } }),
      call: { store: 'kinesis', operation: 'PutRecords', isChange: true },
    },
    {
      name: 'an object of the archive',
      request: request({ method: 'PUT', path: '/bucket/archive/v1/tenant%3Dt/x.parquet?x-id=PutObject' }),
      call: { store: 's3', operation: 'PUT archive', isChange: true },
    },
    {
      name: 'a mapping that is removed',
      request: request({ method: 'DELETE', path: '/2015-03-31/event-source-mappings/1' }),
      call: { store: 'lambda', operation: 'DELETE event-source-mappings', isChange: true },
    },
  ])('$name', ({ request, call }) => {
    expect(awsCall('flusher', request)).toMatchObject({ functionName: 'flusher', ...call });
  });
});
