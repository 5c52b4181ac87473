import { mustRollUp } from '../../../shared/archive/rollup';
import { RollupDirectory } from '../../../shared/cold/rollup-directory';
import { tenantIdOf } from '../../../shared/model/placement';

const ref = { tenantId: tenantIdOf('t'), partition: 0 };

test('a partition whose rollups cannot be looked at is taken for one to roll up, which reports the error', async () => {
  const rollups = Object.create(RollupDirectory.prototype, {
    states: { value: () => Promise.reject(new Error('throttled')) },
  }) as RollupDirectory;
  expect(await mustRollUp({ rollups }, ref, [])).toBe(true);
});

test('a stage without rollups has none to roll up', async () => {
  expect(await mustRollUp({ rollups: undefined }, ref, [])).toBe(false);
});
