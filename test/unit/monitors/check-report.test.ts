import {
  advanceCheck,
  type CheckReport,
  type CheckState,
  checkReport,
  newCheck,
} from '../../../shared/monitors/check-report';

const NOW_S = 1_795_212_151;
const sent = {
  source: { type: 'host', hostId: '2vJ965ygiXf' },
  name: 'filecount',
  status: 'CRITICAL',
  message: 'file counts: 101 over 100',
  occurredAt: NOW_S,
};
const report = (changes: object = {}): CheckReport => checkReport.parse({ ...sent, ...changes });

test.each([
  {
    name: 'an interval below 10 minutes',
    given: { notificationInterval: 3 },
    read: { notificationInterval: 10 },
  },
  { name: 'attempts of 0', given: { maxCheckAttempts: 0 }, read: { maxCheckAttempts: 1 } },
  { name: 'many attempts', given: { maxCheckAttempts: 1e9 }, read: { maxCheckAttempts: 10 } },
  { name: 'no message', given: { message: null }, read: { message: '' } },
  {
    name: 'a message of characters outside of the first plane',
    given: { message: '😀'.repeat(2000) },
    read: { message: '😀'.repeat(1024) },
  },
])('$name is brought within bounds', ({ given, read }) => {
  expect(report(given)).toMatchObject(read);
});

test.each([
  { status: 'BAD' },
  { source: { type: 'host', hostId: 'a#b' } },
  { occurredAt: 1.5 },
  { occurredAt: 1e300 },
  { name: '' },
])('a report with %o is refused by itself', (changes) => {
  expect(checkReport.safeParse({ ...sent, ...changes }).success).toBe(false);
});

/** Handles reports in order, each at the time at which it occurred. Returns the events. */
function run(
  reports: readonly (object & { readonly nowS?: number })[],
  context: { isWatched?: boolean; isDown?: boolean } = {},
  nowS?: number,
): string[] {
  let check: CheckState = newCheck(sent.source.hostId, sent.name);
  return reports.map(({ nowS: receivedS = nowS, ...changes }) => {
    const given = report(changes);
    const nowMs = (receivedS ?? given.occurredAt) * 1000;
    const next = advanceCheck(check, given, {
      tenantId: 't',
      nowMs,
      isWatched: true,
      isDown: false,
      ...context,
    });
    check = next?.check ?? check;
    if (next === undefined) return 'ignored';
    return next.transition === undefined ? '-' : `${next.transition.kind} ${next.transition.status}`;
  });
}
const at = (minute: number, status: string, changes: object = {}) => ({
  occurredAt: NOW_S + 60 * minute,
  status,
  ...changes,
});

test.each([
  {
    name: 'opens and closes',
    reports: [at(0, 'OK'), at(1, 'CRITICAL'), at(2, 'OK')],
    happened: ['-', 'opened CRITICAL', 'closed OK'],
  },
  {
    name: 'opens after three reports',
    reports: [0, 1, 2].map((i) => at(i, 'WARNING', { maxCheckAttempts: 3 })),
    happened: ['-', '-', 'opened WARNING'],
  },
  { name: 'UNKNOWN opens', reports: [at(0, 'UNKNOWN')], happened: ['opened UNKNOWN'] },
  {
    name: 'a report that is sent again is ignored',
    reports: [at(0, 'CRITICAL'), at(0, 'CRITICAL')],
    happened: ['opened CRITICAL', 'ignored'],
  },
  {
    name: 'a report that was overtaken is ignored',
    reports: [at(1, 'CRITICAL'), at(0, 'OK')],
    happened: ['opened CRITICAL', 'ignored'],
  },
  {
    name: 'another message is shown',
    reports: [at(0, 'CRITICAL'), at(1, 'CRITICAL', { message: 'more' })],
    happened: ['opened CRITICAL', 'updated CRITICAL'],
  },
  {
    name: 'is told again with the first report after its interval',
    reports: [
      at(0, 'CRITICAL', { notificationInterval: 10 }),
      at(9, 'CRITICAL', { notificationInterval: 10 }),
      at(10, 'CRITICAL', { notificationInterval: 10 }),
    ],
    happened: ['opened CRITICAL', '-', 'repeated CRITICAL'],
  },
  {
    name: 'attempts more than 6 hours apart are not in a row',
    reports: [
      at(0, 'CRITICAL', { maxCheckAttempts: 2 }),
      at(361, 'CRITICAL', { maxCheckAttempts: 2 }),
      at(362, 'CRITICAL', { maxCheckAttempts: 2 }),
    ],
    happened: ['-', '-', 'opened CRITICAL'],
  },
  {
    name: 'an open alert stays for longer',
    reports: [at(0, 'CRITICAL'), at(3000, 'OK')],
    happened: ['opened CRITICAL', 'closed OK'],
  },
  {
    name: 'in a downtime nothing opens',
    reports: [at(0, 'CRITICAL')],
    context: { isDown: true },
    happened: ['-'],
  },
  {
    name: 'of a host in maintenance',
    reports: [at(0, 'CRITICAL')],
    context: { isWatched: false },
    happened: ['-'],
  },
])('a check: $name', ({ reports, happened, context }) => {
  expect(run(reports, context)).toEqual(happened);
});

test.each([
  { minutes: -361, happened: 'ignored' },
  { minutes: -359, happened: 'opened CRITICAL' },
  { minutes: 361, happened: 'opened CRITICAL' },
])('a report of $minutes minutes from now: $happened', ({ minutes, happened }) => {
  expect(run([at(minutes, 'CRITICAL')], {}, NOW_S)).toEqual([happened]);
});

/** A report whose time is some minutes ahead of the time at which it is received. */
const ahead = (receivedMinute: number, aheadMinutes: number, status: string, changes: object = {}) => ({
  ...at(receivedMinute + aheadMinutes, status, changes),
  nowS: NOW_S + 60 * receivedMinute,
});

test.each([
  {
    name: 'is three hours ahead',
    reports: [ahead(0, 180, 'CRITICAL'), ahead(1, 180, 'CRITICAL'), ahead(2, 180, 'OK')],
    happened: ['opened CRITICAL', '-', 'closed OK'],
  },
  {
    name: 'is three hours ahead: attempts count one by one, and a report that is sent again does not count',
    reports: [0, 0, 1].map((minute) => ahead(minute, 180, 'CRITICAL', { maxCheckAttempts: 2 })),
    happened: ['-', 'ignored', 'opened CRITICAL'],
  },
  {
    name: 'is three hours ahead: a report that was overtaken is ignored',
    reports: [ahead(1, 180, 'CRITICAL'), ahead(1, 179, 'OK')],
    happened: ['opened CRITICAL', 'ignored'],
  },
  {
    name: 'was three hours ahead until it was corrected',
    reports: [ahead(0, 180, 'CRITICAL'), ahead(1, 0, 'OK'), ahead(2, 0, 'CRITICAL'), ahead(2, 0, 'CRITICAL')],
    happened: ['opened CRITICAL', 'closed OK', 'opened CRITICAL', 'ignored'],
  },
  {
    name: 'was five minutes ahead until it was corrected',
    reports: [ahead(0, 5, 'CRITICAL'), ahead(1, 0, 'OK'), ahead(2, 0, 'CRITICAL'), ahead(3, 0, 'OK')],
    happened: ['opened CRITICAL', 'closed OK', 'opened CRITICAL', 'closed OK'],
  },
  {
    name: 'was three hours ahead until it was corrected: a report that is sent again is ignored',
    reports: [ahead(0, 180, 'CRITICAL'), ahead(1, 0, 'OK'), ahead(2, 178, 'CRITICAL')],
    happened: ['opened CRITICAL', 'closed OK', 'ignored'],
  },
  {
    name: 'is a minute and a half ahead: reports that are sent again are ignored',
    reports: [
      ahead(0, 1.5, 'CRITICAL'),
      ahead(1, 1.5, 'OK'),
      ahead(1.25, 0.25, 'CRITICAL'),
      ahead(1.25, 1.25, 'OK'),
    ],
    happened: ['opened CRITICAL', 'closed OK', 'ignored', 'ignored'],
  },
  {
    name: 'is ahead by seconds: a report that was overtaken is ignored',
    reports: [ahead(1, 0.5, 'CRITICAL'), ahead(1, 0, 'OK'), ahead(2, 0.5, 'OK')],
    happened: ['opened CRITICAL', 'ignored', 'closed OK'],
  },
])('the clock of an agent $name', ({ reports, happened }) => {
  expect(run(reports)).toEqual(happened);
});
