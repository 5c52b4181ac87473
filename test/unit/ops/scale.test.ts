import { join } from 'node:path';
import { type Resharding, type ShardState, StageCache } from '../../../scripts/ops/elasticache';
import { OperatorError } from '../../../scripts/ops/invoke';
import { scale, scaleInterruptibly } from '../../../scripts/ops/scale';

/** A cache that changes after several reads of its state, and functions that record their calls. */
function world(shards: number, { looksToChange = 2, ignores = false, isChanging = false } = {}) {
  const calls: string[] = [];
  const state = { shards, wanted: isChanging ? shards + 1 : shards, left: isChanging ? looksToChange : 0 };
  let nowMs = 0;
  let notices = 7;
  const resharding: Resharding = {
    look: async (): Promise<ShardState> => {
      nowMs += 30_000;
      if (state.left > 0 && --state.left === 0) state.shards = state.wanted;
      return { shards: state.shards, isChanging: state.left > 0 };
    },
    begin: async (wanted) => {
      calls.push(`begin ${wanted}`);
      if (ignores) return;
      state.wanted = wanted;
      state.left = looksToChange;
    },
  };
  const functions = {
    invoke: async <T>(name: string, payload: unknown): Promise<T> => {
      const { command, scalingForMs } = payload as { command?: string; scalingForMs?: number };
      calls.push(name === 'flusher' ? 'drain' : `${command} ${scalingForMs}`);
      const watch = { primaries: state.shards, isMoving: state.left > 0, notices };
      return (
        name === 'flusher' ? { before: 1, windows: 5, samples: 50, bytes: 9, remaining: 0 } : watch
      ) as T;
    },
  };
  const lose = () => notices++;
  const run = (wanted: number, drains = true) =>
    scale(
      functions,
      resharding,
      { shards: wanted, drains, lookMs: 0, beginMs: 60_000 },
      () => {},
      () => nowMs,
    );
  return { run, calls, lose, state, functions, resharding };
}

const WATCH = 'watch memory 900000';
const END = 'watch memory 0';

describe('ops scale', () => {
  test('looks at the primaries, drains, moves slots, waits, and ends the state of moving', async () => {
    const { run, calls } = world(3);
    expect(await run(5)).toMatchObject({ from: 3, to: 5, drainedSamples: 50, losses: 0 });
    expect(calls).toEqual([WATCH, 'drain', WATCH, 'begin 5', WATCH, END]);
  });

  test('says on Ctrl-C how far it was and how to go on, and exits with 130', async () => {
    const { functions, resharding } = world(3, { looksToChange: 20 });
    const lines: string[] = [];
    const error = jest.spyOn(console, 'error').mockImplementation((line: string) => void lines.push(line));
    const exited = Promise.withResolvers<unknown>();
    const exit = jest
      .spyOn(process, 'exit')
      .mockImplementation(((code: number) => exited.resolve(code)) as never);
    const look = async () => {
      const state = await resharding.look();
      if (lines.includes('3 of 5 shards, 3 primaries with slots, slots are moving'))
        process.emit('SIGINT', 'SIGINT');
      return state;
    };
    const options = { shards: 5, drains: false, lookMs: 0, beginMs: 60_000 };
    const ended = scaleInterruptibly(functions, { ...resharding, look }, options);
    expect(await exited.promise).toBe(130);
    expect(lines.at(-1)).toMatch(/^interrupted\. Last state: 3 of 5 shards, .* run the command again\.$/);
    await ended;
    error.mockRestore();
    exit.mockRestore();
  });

  test('also reduces the number of shards', async () => {
    const { run, calls } = world(5);
    expect(await run(3)).toMatchObject({ from: 5, to: 3 });
    expect(calls).toContain('begin 3');
  });

  test('does not drain memory before it moves slots if told so', async () => {
    const { run, calls } = world(3);
    expect(await run(4, false)).toMatchObject({ drainedSamples: 0 });
    expect(calls).not.toContain('drain');
  });

  test('changes nothing when there are as many shards, and ends what an interrupted command began', async () => {
    const { run, calls } = world(3);
    expect(await run(3)).toMatchObject({ from: 3, to: 3, losses: 0 });
    expect(calls).toEqual([END, END]);
  });

  test('repeated while slots move, waits for them and neither drains nor begins again', async () => {
    const { run, calls } = world(3, { isChanging: true, looksToChange: 4 });
    expect(await run(4)).toMatchObject({ from: 3, to: 4 });
    expect(calls.filter((call) => call !== WATCH)).toEqual([END]);
  });

  test('waits for another change to end before it begins its own', async () => {
    const { run, calls } = world(3, { isChanging: true, looksToChange: 4 });
    expect(await run(6)).toMatchObject({ from: 3, to: 6 });
    expect(calls.filter((call) => call.startsWith('begin'))).toEqual(['begin 6']);
  });

  test('says how many losses were noticed during the change', async () => {
    const { run, lose } = world(3);
    const result = run(4);
    setImmediate(lose);
    expect(await result).toMatchObject({ losses: 1 });
  });

  test('gives up when slots never begin to move', async () => {
    const { run, calls } = world(3, { ignores: true });
    await expect(run(4)).rejects.toThrow('the cache still has 3 shards, but 4 were requested');
    expect(calls.filter((call) => call.startsWith('begin'))).toHaveLength(3);
  });
});

test('ops scale without credentials fails with one sentence', async () => {
  const env = { ...process.env };
  const none = join(__dirname, 'no-such-file');
  Object.assign(process.env, {
    AWS_REGION: 'us-east-1',
    AWS_CONFIG_FILE: none,
    AWS_SHARED_CREDENTIALS_FILE: none,
    AWS_EC2_METADATA_DISABLED: 'true',
  });
  delete process.env.AWS_ACCESS_KEY_ID;
  const resharding = new StageCache('heterotsdb-dev');
  try {
    await expect(resharding.look()).rejects.toThrow(OperatorError);
    await expect(resharding.look()).rejects.toThrow(
      /^no answer from ElastiCache \(stack heterotsdb-dev\): do your credentials allow elasticache:DescribeReplicationGroups\?/,
    );
  } finally {
    resharding.close();
    process.env = env;
  }
});
