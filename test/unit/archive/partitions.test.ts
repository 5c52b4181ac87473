import type { ArchiveDependencies } from '../../../shared/archive/execute';
import { type ArchiveRun, archivePartitions, inTurns } from '../../../shared/archive/partitions';
import { type PartitionRef, tenantIdOf } from '../../../shared/model/placement';

test('tenants take turns, so the days of one tenant do not delay the first days of others', () => {
  expect(inTurns([['a1', 'a2', 'a3'], ['b1'], [], ['c1', 'c2']])).toEqual([
    'a1',
    'b1',
    'c1',
    'a2',
    'c2',
    'a3',
  ]);
});

test('a partition whose days cannot be read is reported, and the others are archived', async () => {
  const [damaged, whole] = [0, 1].map((partition) => ({ tenantId: tenantIdOf('t'), partition }));
  const manifest = {
    days: async (ref: PartitionRef) => {
      if (ref === damaged) throw new Error('damaged');
      return [];
    },
  };
  const [read, failed] = [jest.fn(), jest.fn()];
  const dependencies = { manifest, now: () => 0 } as unknown as ArchiveDependencies;
  const run: ArchiveRun = {
    beforeMs: 0,
    retentionMs: () => 1,
    archiveAfterMs: 0,
    partBytes: 1,
    purgeAgeMs: undefined,
    hasTime: () => true,
    mustStop: () => false,
    onDays: async (ref) => read(ref),
    onFailure: failed,
  };
  const count = await archivePartitions(dependencies, [damaged!, whole!], run);
  expect(count.failed).toBe(1);
  expect(failed).toHaveBeenCalledWith(damaged, 'all', new Error('damaged'));
  expect(read.mock.calls).toEqual([[whole]]);
});
