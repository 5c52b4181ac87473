import fc from 'fast-check';
import {
  batchLength,
  doneCount,
  kinesisEvent,
  MAX_PAYLOAD_BYTES,
  type ShardRecord,
} from '../../../scripts/local/batches';

const record = (sequenceNumber: string, bytes = 1): ShardRecord => ({
  sequenceNumber,
  partitionKey: 'p',
  arrivalMs: 1_795_212_120_123,
  data: new Uint8Array(bytes),
});
const records = (count: number, bytes = 1) =>
  Array.from({ length: count }, (_, i) => record(String(i + 1), bytes));

describe('the next batch', () => {
  test.each([
    { name: 'is empty when nothing was read', buffered: [], batchSize: 10, length: 0 },
    { name: 'has all records read, up to the batch size', buffered: records(3), batchSize: 10, length: 3 },
    { name: 'has no more records than the batch size', buffered: records(30), batchSize: 10, length: 10 },
    {
      name: 'ends before the payload limit, base64 included',
      buffered: records(10, 1_048_576),
      batchSize: 10,
      length: 4,
    },
    { name: 'is one record, however large', buffered: records(2, 10_000_000), batchSize: 10, length: 1 },
  ])('$name', ({ buffered, batchSize, length }) => {
    expect(batchLength(buffered, batchSize)).toBe(length);
  });

  test('always makes progress, and its event fits in the payload unless it is a single record', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 900_000 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 30 }),
        (sizes, batchSize) => {
          const buffered = sizes.map((bytes, i) => record(String(i), bytes));
          const length = batchLength(buffered, batchSize);
          expect(length).toBeGreaterThanOrEqual(1);
          expect(length).toBeLessThanOrEqual(Math.min(batchSize, sizes.length));
          const event = kinesisEvent(buffered.slice(0, length), 'shardId-000000000000', 'arn');
          if (length > 1) expect(JSON.stringify(event).length).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
        },
      ),
      { numRuns: 50, seed: 1 },
    );
  });
});

describe('the result of a function', () => {
  const batch = records(5);
  const failing = (...itemIdentifiers: unknown[]) => ({
    batchItemFailures: itemIdentifiers.map((itemIdentifier) => ({ itemIdentifier })),
  });

  test.each([
    { name: 'nothing: success', response: undefined, done: 5 },
    { name: 'null: success', response: null, done: 5 },
    { name: 'an empty object: success', response: {}, done: 5 },
    { name: 'an empty list: success', response: failing(), done: 5 },
    { name: 'a null list: success', response: { batchItemFailures: null }, done: 5 },
    { name: 'the first record: all again', response: failing('1'), done: 0 },
    { name: 'the last record: only that again', response: failing('5'), done: 4 },
    { name: 'several, in any order: from the lowest on again', response: failing('5', '3', '4'), done: 2 },
    { name: 'one twice: as once', response: failing('3', '3'), done: 2 },
    { name: 'an empty identifier: total failure', response: failing('2', ''), done: 0 },
    { name: 'a null identifier: total failure', response: failing('2', null), done: 0 },
    { name: 'a record that was not in the batch: total failure', response: failing('2', '99'), done: 0 },
    { name: 'another key: total failure', response: { batchItemFailures: [{ id: '2' }] }, done: 0 },
    { name: 'a null item: total failure', response: { batchItemFailures: [null] }, done: 0 },
    { name: 'a list that is no list: total failure', response: { batchItemFailures: '2' }, done: 0 },
    { name: 'text: total failure', response: 'ok', done: 0 },
  ])('$name', ({ response, done }) => {
    expect(doneCount(batch, response, true)).toBe(done);
  });

  test('is ignored when the mapping does not ask for item failures', () => {
    expect(doneCount(batch, failing('1'), false)).toBe(5);
  });

  test('counts by order in the shard, not by order of text', () => {
    // Compared as strings, 10 would precede 9.
    expect(doneCount([record('9'), record('10'), record('11')], failing('11', '10'), true)).toBe(1);
  });
});

test('an event has the fields and the units that Lambda gives', () => {
  const data = Buffer.from('..ab..').subarray(2, 4);
  const event = kinesisEvent(
    [{ sequenceNumber: '7', partitionKey: 'pk', arrivalMs: 1_795_212_120_123, data }],
    'shardId-000000000003',
    'arn:aws:kinesis:us-east-1:000000000000:stream/s',
  );
  expect(event).toEqual({
    Records: [
      {
        kinesis: {
          kinesisSchemaVersion: '1.0',
          partitionKey: 'pk',
          sequenceNumber: '7',
          data: 'YWI=',
          approximateArrivalTimestamp: 1_795_212_120.123,
        },
        eventSource: 'aws:kinesis',
        eventVersion: '1.0',
        eventID: 'shardId-000000000003:7',
        eventName: 'aws:kinesis:record',
        invokeIdentityArn: 'arn:aws:iam::000000000000:role/local',
        awsRegion: 'us-east-1',
        eventSourceARN: 'arn:aws:kinesis:us-east-1:000000000000:stream/s',
      },
    ],
  });
});
