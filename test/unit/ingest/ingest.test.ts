import { CommonLayouts } from '../../../shared/ingest/common-layouts';
import { type IngestDependencies, ingestBatch } from '../../../shared/ingest/ingest';
import { encodeRecord } from '../../../shared/stream/record';

const RECORD = { sequenceNumber: '7', arrivalMs: 0, shardId: 'shard-0', data: Buffer.from('no record') };

/** A record of each of two partitions. */
const OF_TWO_PARTITIONS = [0, 1].map((partition) => ({
  ...RECORD,
  sequenceNumber: String(partition),
  data: encodeRecord({ tenant: 't', partition, groups: [] }),
}));

/** Returns dependencies whose catalogue fails, once with each of the errors. */
function failingWith(...errors: Error[]): IngestDependencies {
  return {
    deletedTenants: { names: async () => new Set() },
    commonLayouts: new CommonLayouts(),
    catalogue: { putAll: () => Promise.reject(errors.shift()!), indexWriter: { put: async () => {} } },
  } as unknown as IngestDependencies;
}

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
  const dependencies = failingWith(new Error('Command timed out'), new TypeError('x is undefined'));
  expect(await ingestBatch(dependencies, OF_TWO_PARTITIONS)).toMatchObject({
    isDown: false,
    reason: 'x is undefined',
  });
});

test.each([
  { name: 'used up by a store that is down', partitionsWithTime: 1, isDown: true },
  { name: 'too short from the start', partitionsWithTime: 0, isDown: false },
])('records whose time was $name are reported as such', async ({ partitionsWithTime, isDown }) => {
  const timedOut = new Error('Command timed out');
  const dependencies = failingWith(timedOut, timedOut);
  let partitions = 0;
  const hasTime = () => partitions++ < partitionsWithTime;
  expect(await ingestBatch(dependencies, OF_TWO_PARTITIONS, hasTime)).toMatchObject({
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
