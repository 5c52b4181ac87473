import { inTurns } from '../../../shared/archive/partitions';

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
