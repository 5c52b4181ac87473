import type { Status } from '../../../functions/page/browser/api/status';
import {
  daysOverTime,
  figureOverTime,
  NO_HISTORY,
  withStatus,
} from '../../../functions/page/browser/status/history';

const statusAt = (seconds: number, samples: number, reads: number, behindMs: number | null) =>
  ({ atMs: seconds * 1000, stream: { behindMs }, usage: { samples, reads } }) as unknown as Status;

test('the history has a rate once counts span half a minute, and the lag at once', () => {
  const looks = [statusAt(0, 0, 0, 500), statusAt(20, 0, 0, null), statusAt(40, 400, 20, 1500)];
  const history = looks.reduce(withStatus, NO_HISTORY);
  expect(figureOverTime(history, 'samples')).toEqual({ times: [40], values: [[10]] });
  expect(figureOverTime(history, 'reads').values).toEqual([[0.5]]);
  expect(figureOverTime(history, 'lagS')).toEqual({ times: [0, 40], values: [[0.5, 1.5]] });
});

test('the history has each status once, and an hour of them at most', () => {
  let history = withStatus(withStatus(NO_HISTORY, statusAt(5, 1, 1, 0)), statusAt(5, 1, 1, 0));
  expect(history.observations).toHaveLength(1);
  for (let look = 2; look < 1000; look++) history = withStatus(history, statusAt(5 * look, look, 0, 0));
  expect(history.observations).toHaveLength(720);
  expect(history.observations.at(-1)!.timeS).toBe(4995);
});

test('the figure of a day is drawn at the beginning of the day', () => {
  expect(daysOverTime([{ day: '1970-01-02', samples: 5, reads: 3 }], 'reads')).toEqual({
    times: [86_400],
    values: [[3]],
  });
});
