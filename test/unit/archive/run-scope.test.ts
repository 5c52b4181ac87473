import { fullScope, hourlyScope, isLongOverdue, partitionsToRollUp } from '../../../shared/archive/run-scope';
import { tenantIdOf } from '../../../shared/model/placement';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NOW = Date.parse('2026-11-21T12:30:00Z');

describe('the archiver’s hourly run', () => {
  const all = Array.from({ length: 24 }, (_, partition) => ({ tenantId: tenantIdOf('t'), partition }));
  const hours = Array.from({ length: 24 }, (_, hour) => NOW + hour * HOUR);

  test('checks every day of a partition once a day, at an hour that depends on the partition, and recent days each hour', () => {
    const turns = all.slice(0, 8).map((ref) => {
      const firsts = hours.map((nowMs) => hourlyScope(all, all, nowMs, 3 * DAY).fromDay(ref));
      expect(firsts.filter((day) => day === undefined)).toHaveLength(1);
      return firsts.indexOf(undefined);
    });
    expect(new Set(turns).size).toBe(8);
    const { fromDay } = hourlyScope(all, all, NOW, 3 * DAY);
    expect(new Set(all.map(fromDay))).toEqual(new Set([undefined, '2026-11-15']));
  });

  test('checks registered partitions each hour, and every other partition once a day', () => {
    const some = all.slice(0, 8);
    const registered = [some[3]!, { tenantId: tenantIdOf('deleted'), partition: 0 }];
    const scopes = hours.map((nowMs) => hourlyScope(some, registered, nowMs, 3 * DAY).partitions);
    for (const partitions of scopes) expect(partitions).toContain(some[3]);
    expect(scopes.flat().filter(({ partition }) => partition !== 3)).toHaveLength(7);
  });

  test('rolls up the partitions that are active, or of which it checked every day', () => {
    const scope = hourlyScope(all, all, NOW, 3 * DAY);
    const turn = all.findIndex((ref) => scope.fromDay(ref) === undefined);
    const active = all[(turn + 1) % all.length]!;
    expect(new Set(partitionsToRollUp(scope, new Set([active])))).toEqual(new Set([all[turn], active]));
    expect(partitionsToRollUp(fullScope(all), new Set())).toEqual(all);
  });

  test.each([
    { name: 'a day that is archived', day: '2026-11-01', isArchived: true, isLate: false },
    { name: 'an open day that is not due yet', day: '2026-11-20', isArchived: false, isLate: false },
    { name: 'an open day that was due today', day: '2026-11-18', isArchived: false, isLate: false },
    { name: 'an open day that was due yesterday', day: '2026-11-17', isArchived: false, isLate: true },
  ])('checks every day of a partition if one is long overdue: $name', ({ day, isArchived, isLate }) => {
    const archived = isArchived ? { identity: '', announcements: 1, parts: [], atMs: 0 } : undefined;
    expect(isLongOverdue({ day, announcements: 1, archived }, NOW, 2 * DAY)).toBe(isLate);
  });
});
