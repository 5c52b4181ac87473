import { OperatorError } from '../../../scripts/ops/invoke';
import { replay, statusLine } from '../../../scripts/ops/replay';

const status = {
  loss: { id: 'l', fromMs: 0, notices: 2, isOpen: true, noticedMs: 0, reason: 'a node was wiped' },
  replay: {
    id: 'r',
    fromMs: 0,
    toMs: Infinity,
    state: 'running' as const,
    startedMs: 0,
    endedMs: undefined,
    mapping: 'm',
    loss: { id: 'l', notices: 2 },
  },
  shards: [{ shardId: 's', arrivedMs: 1, isPassed: true }],
};

test('the status of a replay names the objects that keep the loss open, and says what to do', () => {
  const line = 'replay r of the beginning of the stream to now after a loss (a node was wiped): running';
  expect(statusLine(status)).toBe(`${line}, 1 of 1 shards read so far`);
  const first = Array.from({ length: 5 }, (_, n) => `aws/lambda/${n}`);
  const text = statusLine({ ...status, lostObjects: { count: 7, first } });
  expect(text).toContain(
    'the loss stays open until these redriven objects are ingested again: aws/lambda/0,',
  );
  expect(text).toContain('aws/lambda/4 and 2 more; ');
  expect(text).toContain('`quarantine redrive`');
  expect(text).toContain('delete it from the bucket');
});

describe('watching a replay', () => {
  /** Functions that answer with a running replay first, and then with the replay as it ended. */
  const functionsOf = (state: 'done' | 'stopped') => {
    const answers = [status, { ...status, replay: { ...status.replay, state, endedMs: 1 } }];
    return { invoke: <T>() => Promise.resolve(answers.shift() as T) };
  };
  const watch = (state: 'done' | 'stopped') =>
    replay(functionsOf(state), { from: 0, to: undefined }, () => {});

  test('returns the status of a replay that has read everything', async () => {
    expect((await watch('done')).replay).toMatchObject({ id: 'r', state: 'done' });
  });

  test('fails if somebody stops the replay, because not all records were read', async () => {
    const watching = watch('stopped');
    await expect(watching).rejects.toThrow(OperatorError);
    await expect(watching).rejects.toThrow('was stopped before it had read everything');
  });
});
