import { firstDayToLookAt, isLongOverdue, partitionsToLookAt } from '../../../shared/archive/look';
import { tenantIdOf } from '../../../shared/model/placement';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-21T12:30:00Z');

describe('the archiver’s hourly look', () => {
  test('is at every day once a day, at hours that differ, and else at recent days', () => {
    const hours = Array.from({ length: 8 }, (_, partition) => {
      const ref = { tenantId: tenantIdOf('t'), partition };
      const firsts = Array.from({ length: 24 }, (_, hour) =>
        firstDayToLookAt(ref, NOW + hour * HOUR, 3 * DAY),
      );
      expect(firsts.filter((day) => day === undefined)).toHaveLength(1);
      return firsts.indexOf(undefined);
    });
    expect(new Set(hours).size).toBe(8);
    const others = Array.from({ length: 24 }, (_, partition) =>
      firstDayToLookAt({ tenantId: tenantIdOf('t'), partition }, NOW, 3 * DAY),
    );
    expect(new Set(others)).toEqual(new Set([undefined, '2026-11-15']));
  });

  test('is at registered partitions, and once a day at every other one', () => {
    const all = Array.from({ length: 8 }, (_, partition) => ({ tenantId: tenantIdOf('t'), partition }));
    const registered = [all[3]!, { tenantId: tenantIdOf('deleted'), partition: 0 }];
    const looks = Array.from({ length: 24 }, (_, hour) =>
      partitionsToLookAt(all, registered, NOW + hour * HOUR),
    );
    for (const looked of looks) expect(looked).toContain(all[3]);
    expect(looks.flat().filter(({ partition }) => partition !== 3)).toHaveLength(7);
  });

  test.each([
    { name: 'a day that is archived', day: '2026-11-01', isArchived: true, isLate: false },
    { name: 'an open day that is not due yet', day: '2026-11-20', isArchived: false, isLate: false },
    { name: 'an open day that was due today', day: '2026-11-18', isArchived: false, isLate: false },
    { name: 'an open day that was due yesterday', day: '2026-11-17', isArchived: false, isLate: true },
  ])('is at every day where it finds one long overdue: $name', ({ day, isArchived, isLate }) => {
    const archived = isArchived ? { changes: 1, parts: [], atMs: 0 } : undefined;
    expect(isLongOverdue({ day, changes: 1, archived }, NOW, 2 * DAY)).toBe(isLate);
  });
});
