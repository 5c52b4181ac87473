import { existsSync } from 'node:fs';
import { Harness, withHarness } from '../../../scripts/bench/harness/harness';

test('a benchmark run stops what it started in reverse order, and removes its folder last', async () => {
  const ended: string[] = [];
  let dir = '';
  await withHarness('test', async (harness) => {
    dir = harness.dir;
    harness.atEnd(() => ended.push(`stores, folder ${existsSync(dir)}`));
    await harness.part(async (part) => part.atEnd(() => ended.push('part')));
    harness.atEnd(() => ended.push('worker'));
  });
  expect(ended).toEqual(['part', 'worker', 'stores, folder true']);
  expect(existsSync(dir)).toBe(false);
});

test('a run that fails ends everything that it started, even if one of the ends fails', async () => {
  const ended: string[] = [];
  const run = withHarness('test', async (harness) => {
    harness.atEnd(() => ended.push('first'));
    harness.atEnd(() => {
      throw new Error('this end fails');
    });
    harness.atEnd(() => ended.push('last'));
  });
  await expect(run).rejects.toThrow('this end fails');
  expect(ended).toEqual(['last', 'first']);
});

test('a long work reports its finished parts, at most once in ten seconds', () => {
  jest.useFakeTimers();
  const lines: unknown[] = [];
  const write = jest.spyOn(process.stderr, 'write').mockImplementation((line) => lines.push(line) > 0);
  const countDay = new Harness('history').counter('days are archived', 5);
  for (const seconds of [4, 7, 8, 4, 30]) {
    jest.advanceTimersByTime(seconds * 1000);
    countDay();
  }
  write.mockRestore();
  jest.useRealTimers();
  expect(lines).toEqual([
    '2 of 5 days are archived after 11 s\n',
    '4 of 5 days are archived after 23 s\n',
    '5 of 5 days are archived after 53 s\n',
  ]);
});
