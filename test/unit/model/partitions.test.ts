import { hasTurn } from '../../../shared/model/partitions';
import { tenantIdOf } from '../../../shared/model/placement';

const NOW = Date.parse('2026-11-21T12:00:00Z');

test.each([24, 1440])('each partition has one of %i turns a day, and they are spread', (count) => {
  const partitions = ['a', 'b', 'c'].flatMap((name) =>
    Array.from({ length: 100 }, (_, partition) => ({ tenantId: tenantIdOf(name), partition })),
  );
  const turns = Array.from({ length: count }, (_, turn) =>
    partitions.filter((ref) => hasTurn(ref, NOW + (turn + 0.5) * (86_400_000 / count), count)),
  );
  expect(turns.flat()).toHaveLength(partitions.length);
  expect(new Set(turns.flat()).size).toBe(partitions.length);
  expect(Math.max(...turns.map((own) => own.length))).toBeLessThanOrEqual(Math.ceil(100 / count) * 3);
});
