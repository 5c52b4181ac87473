import { parseCount, parseDay, parseDurationOption, parseTime } from '../../../scripts/ops/option-values';

describe('a time', () => {
  test.each([
    { text: '2026-11-21T08:00:00Z', ms: 1_795_248_000_000 },
    { text: '2026-11-21', ms: 1_795_219_200_000 },
    { text: '2026-11-21T08:00', ms: 1_795_248_000_000 },
    { text: '2026-11-21 08:00:00.5', ms: 1_795_248_000_500 },
    { text: '2026-11-21T17:00:00+09:00', ms: 1_795_248_000_000 },
    { text: '1795248000', ms: 1_795_248_000_000 },
    { text: '0', ms: 0 },
  ])('is read from $text', ({ text, ms }) => {
    expect(parseTime(text)).toBe(ms);
  });

  test.each([
    {
      text: '1795248000000',
      says: 'Unix times are in seconds, and 1795248000000 s is in the year 58859. Is it in ms? Then give 1795248000 (2026-11-21T08:00:00.000Z).',
    },
    { text: '99999999999999', says: 'out of range' },
    {
      text: 'yesterday',
      says: 'Give an ISO time such as 2026-11-21T08:00:00Z, UTC if it names no zone, or Unix time in seconds.',
    },
    { text: '5 pots', says: 'Give an ISO time' },
    { text: '2026-13-01', says: 'Give an ISO time' },
    { text: '2026-02-30', says: 'Give an ISO time' },
    { text: '2026-02-30T08:00:00Z', says: 'Give an ISO time' },
    { text: '2026-11', says: 'Give an ISO time' },
    { text: '2026-11-21 8:00 PM PST', says: 'Give an ISO time' },
    { text: '2026-11-21T25:00', says: 'Give an ISO time' },
    { text: '-5', says: 'Give an ISO time' },
  ])('is not read from $text', ({ text, says }) => {
    expect(() => parseTime(text)).toThrow(says);
  });
});

test.each(['2026-13-01', '2026-02-30', '2026-2-3', 'today', '2026-11-21T00:00:00Z', ''])(
  '%j is refused as a day',
  (text) => {
    expect(parseDay('2024-02-29')).toBe('2024-02-29');
    expect(() => parseDay(text)).toThrow('Give a day such as 2026-11-21.');
  },
);

describe('a duration', () => {
  test('needs its unit', () => {
    expect(parseDurationOption('60s')).toBe(60_000);
    expect(() => parseDurationOption('60')).toThrow(
      'Give a duration such as 60s, 15m, 1h or 460d. 60 has no unit: 60s or 60m?',
    );
    expect(() => parseDurationOption('0s')).toThrow('Give a duration');
  });
});

test.each(['0', '-1', '1.5', 'x', '', '33'])('%j is not a whole number from 1 to 32', (text) => {
  expect(() => parseCount(32)(text)).toThrow('Give a whole number from 1 to 32.');
});
