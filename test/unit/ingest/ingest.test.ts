import { type IngestDependencies, ingestBatch } from '../../../shared/ingest/ingest';
import { encodeRecord } from '../../../shared/stream/record';

const RECORD = { sequenceNumber: '7', arrivalMs: 0, shardId: 'shard-0', data: Buffer.from('no record') };

test.each([
  { name: 'a store that is down', error: new Error('Connection is closed.'), isDown: true },
  { name: 'memory that is full', error: new Error('OOM command not allowed'), isDown: true },
  {
    name: 'a store that refuses connections',
    error: new AggregateError([Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })]),
    reason: 'connect ECONNREFUSED',
    isDown: true,
  },
  { name: 'a bug', error: new TypeError('x is undefined'), isDown: false },
])('a record that fails for $name is reported as such', async ({ error, reason = error.message, isDown }) => {
  const dependencies = {
    deletedTenants: { names: async () => new Set() },
    quarantine: { put: () => Promise.reject(error) },
  } as unknown as IngestDependencies;
  expect(await ingestBatch(dependencies, [RECORD])).toMatchObject({
    failed: ['7'],
    isDown,
    reason,
    quarantined: [],
  });
});

test('a batch in which one partition meets a store that is down and another one a bug names the bug', async () => {
  const failures = [new Error('Command timed out'), new TypeError('x is undefined')];
  const dependencies = {
    deletedTenants: { names: async () => new Set() },
    catalogue: {
      putAll: () => Promise.reject(failures.shift()!),
      indexWriter: { put: async () => {} },
    },
  } as unknown as IngestDependencies;
  const records = [0, 1].map((partition) => ({
    ...RECORD,
    sequenceNumber: String(partition),
    data: encodeRecord({ tenant: 't', partition, groups: [] }),
  }));
  expect(await ingestBatch(dependencies, records)).toMatchObject({
    isDown: false,
    reason: 'x is undefined',
  });
});

test.each([
  { name: 'used up by a store that is down', partitionsWithTime: 1, isDown: true },
  { name: 'too short from the start', partitionsWithTime: 0, isDown: false },
])('records whose time was $name are reported as such', async ({ partitionsWithTime, isDown }) => {
  const dependencies = {
    deletedTenants: { names: async () => new Set() },
    catalogue: {
      putAll: () => Promise.reject(new Error('Command timed out')),
      indexWriter: { put: async () => {} },
    },
  } as unknown as IngestDependencies;
  const records = [0, 1].map((partition) => ({
    ...RECORD,
    sequenceNumber: String(partition),
    data: encodeRecord({ tenant: 't', partition, groups: [] }),
  }));
  let partitions = 0;
  const hasTime = () => partitions++ < partitionsWithTime;
  expect(await ingestBatch(dependencies, records, hasTime)).toMatchObject({
    failed: expect.arrayContaining(['0', '1']),
    isDown,
  });
});

test('a batch without failures reports no store as down', async () => {
  const dependencies = {
    deletedTenants: { names: async () => new Set() },
    quarantine: { put: async () => {} },
  } as unknown as IngestDependencies;
  expect(await ingestBatch(dependencies, [RECORD])).toMatchObject({
    failed: [],
    isDown: false,
    quarantined: ['7'],
  });
});
