import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const root = join(__dirname, '..', '..');
const SEED = Number(process.env.SIMULATE_SEED ?? 1);

/** Runs `npm run simulate`. */
async function simulate(...args: string[]) {
  const child = spawn(
    join(root, 'node_modules', '.bin', 'tsx'),
    [join(root, 'scripts', 'simulate.ts'), '--json', ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const [out, progress, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (out === '') throw new Error(`the simulation failed: ${progress}`);
  return { code, result: JSON.parse(out.trim().split('\n').at(-1)!), progress };
}

const small = ['--days', '1', '--hosts', '2', '--series', '2', '--every', '5'];

test('a day with every fault loses nothing, and the same seed gives the same trace', async () => {
  console.log(`SIMULATE_SEED=${SEED}`);
  const first = await simulate('--seed', String(SEED), ...small);
  expect(first.result).toMatchObject({ lost: 0, doubled: 0, wrong: 0, examples: [] });
  expect(first.code).toBe(0);
  expect(first.result.acknowledged).toBeGreaterThan(1_000);
  expect(first.result.stored.objects).toBeGreaterThan(0);
  expect(first.result.faults['answer lost']).toBeGreaterThan(0);

  const second = await simulate('--seed', String(SEED), ...small);
  expect(second.result).toEqual({ ...first.result, secondsPerDay: expect.any(Number) });
});
