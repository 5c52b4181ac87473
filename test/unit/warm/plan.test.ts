import { planKeys } from '../../../shared/warm/plan';

const HOUR = 3_600_000;

test.each<{
  name: string;
  groups?: number;
  from?: number;
  to?: number;
  lengths?: readonly number[];
  starts: readonly number[] | undefined;
}>([
  { name: '8 groups, 3 hours: by the keys of their windows', starts: [9, 10, 11] },
  { name: '7 groups: a query each', groups: 7, starts: undefined },
  { name: '6 windows: by keys', from: 6, starts: [6, 7, 8, 9, 10, 11] },
  { name: '7 windows: a query a group', from: 5, starts: undefined },
  { name: 'a whole day: a query a group', from: 0, to: 24, starts: undefined },
  {
    name: 'a whole day in windows of 4 hours: by keys',
    from: 0,
    to: 24,
    lengths: [4],
    starts: [0, 4, 8, 12, 16, 20],
  },
  { name: 'windows of two lengths', from: 8, lengths: [1, 4], starts: [8, 9, 10, 11] },
  {
    name: 'a range that begins within a long window: its start is before the range',
    lengths: [4],
    starts: [],
  },
  { name: 'a range without windows', from: 12, starts: [] },
  { name: 'windows of a minute: a query a group', lengths: [1 / 60], starts: undefined },
])('$name', ({ groups = 8, from = 9, to = 12, lengths = [1], starts }) => {
  const wanted = {
    windowsFromMs: from * HOUR,
    windowsToMs: to * HOUR,
    windowLengthsMs: lengths.map((length) => length * HOUR),
  };
  const planned = planKeys(new Array(groups).fill(wanted));
  expect(planned).toEqual(starts && new Array(groups).fill(starts.map((start) => start * HOUR)));
});
