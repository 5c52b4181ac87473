import { type IngestDependencies, ingestBatch } from '../../../shared/ingest/ingest';

const RECORD = { sequenceNumber: '7', arrivalMs: 0, shardId: 'shard-0', data: Buffer.from('no record') };

test.each([
  { name: 'a store that is down', error: new Error('Connection is closed.'), isDown: true },
  { name: 'a bug', error: new TypeError('x is undefined'), isDown: false },
])('a record that fails for $name is reported as such', async ({ error, isDown }) => {
  const dependencies = {
    deletedTenants: { names: async () => new Set() },
    quarantine: { put: () => Promise.reject(error) },
  } as unknown as IngestDependencies;
  expect(await ingestBatch(dependencies, [RECORD])).toMatchObject({ failed: ['7'], isDown, quarantined: [] });
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
