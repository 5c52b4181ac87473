import { openSince } from '../../../shared/flush/keep-open-days';

const NOW = Date.parse('2026-11-21T12:00:00Z');

describe('days whose warm items are kept from expiring', () => {
  test.each([
    { name: 'an open day of that time', day: '2026-11-21', announcements: 2, isKept: true },
    {
      name: 'the day after, of which samples may come early',
      day: '2026-11-22',
      announcements: 2,
      isKept: true,
    },
    { name: 'not a day that nobody wrote to by then', day: '2026-11-23', announcements: 2, isKept: false },
    { name: 'not a day that is archived', day: '2026-11-20', announcements: 1, isKept: false },
    { name: 'a day that was opened again', day: '2025-11-20', announcements: 3, isKept: true },
  ])('$name', ({ day, announcements, isKept }) => {
    const archived = { identity: '', announcements: 1, parts: [], atMs: 0 };
    expect(openSince([{ day, announcements, archived }], NOW)).toHaveLength(isKept ? 1 : 0);
  });
});
