import { UnarchivedDays } from '../../../shared/query/unarchived-days';

const PURGE_AFTER_MS = 15 * 60_000;
const REF = { tenantId: 'tenant', partition: 3 };
const DAY = '2026-11-22';

test('a day counts as unarchived for half of purgeAfter, in its partition alone', () => {
  const days = new UnarchivedDays(PURGE_AFTER_MS);
  days.add(REF, DAY, 1_000);
  expect(days.has(REF, DAY, 1_000)).toBe(true);
  expect(days.has(REF, DAY, 1_000 + PURGE_AFTER_MS / 2)).toBe(false);
  expect(days.has({ ...REF, partition: 4 }, DAY, 1_000)).toBe(false);
  expect(days.has({ ...REF, tenantId: 'other' }, DAY, 1_000)).toBe(false);
  expect(days.has(REF, '2026-11-21', 1_000)).toBe(false);
});

test('a day that is found unarchived again counts for longer', () => {
  const days = new UnarchivedDays(PURGE_AFTER_MS);
  days.add(REF, DAY, 1_000);
  days.add(REF, DAY, 60_000);
  expect(days.has(REF, DAY, 1_000 + PURGE_AFTER_MS / 2)).toBe(true);
});

test('beyond 100,000 days of partitions, all days but the last are forgotten', () => {
  const days = new UnarchivedDays(PURGE_AFTER_MS);
  const refOf = (partition: number) => ({ ...REF, partition });
  for (let partition = 0; partition < 100_000; partition++) days.add(refOf(partition), DAY, 1_000);
  days.add(refOf(0), DAY, 1_000);
  expect(days.has(refOf(99_999), DAY, 1_000)).toBe(true);
  days.add(refOf(100_000), DAY, 1_000);
  expect(days.has(refOf(99_999), DAY, 1_000)).toBe(false);
  expect(days.has(refOf(100_000), DAY, 1_000)).toBe(true);
});
