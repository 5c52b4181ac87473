import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { SimulationResult } from '../../scripts/simulate/run';

const root = join(__dirname, '..', '..');
const SEEDS = (process.env.SIMULATE_SEEDS ?? '1').split(',');
const DAYS = process.env.SIMULATE_DAYS ?? '1';

/** Little load, and actors that act often: what takes weeks comes within days. */
const SMALL = ['--hosts', '2', '--series', '2', '--tick', '10', '--every', '10', '--pace', '6'];

/** Runs `npm run simulate`. */
async function simulate(...args: string[]) {
  const child = spawn(
    join(root, 'node_modules', '.bin', 'tsx'),
    [join(root, 'scripts', 'simulate.ts'), '--json', ...SMALL, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [out, progress, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (out === '') throw new Error(`the simulation failed: ${progress}`);
  return { code, result: JSON.parse(out.trim().split('\n').at(-1)!) as SimulationResult, progress };
}

test.each(SEEDS)(
  `days of seed %s, with every actor and fault, have no flaw, and the same trace again (${DAYS} days)`,
  async (seed) => {
    const args = ['--seed', seed, '--days', DAYS];
    const { result, code, progress } = await simulate(...args);
    if (code !== 0) throw new Error(progress);
    expect(result.flaws).toEqual([]);
    expect(result.acknowledged).toBeGreaterThan(1_000);
    expect(result.stored.objects).toBeGreaterThan(0);
    expect(result.parquetSamples).toBeGreaterThan(1_000);
    expect(result.faults['answer lost']).toBeGreaterThan(0);
    const again = await simulate(...args);
    expect(again.result).toEqual({ ...result, secondsPerDay: expect.any(Number) });
  },
);

test('a planted bug is found: a lost answer that the archiver takes for a failure', async () => {
  const bug = ['--plant', 'a lost answer taken for a failure'];
  const { code, result } = await simulate('--seed', '1', '--days', '4', '--no-shrink', ...bug);
  expect(code).toBe(1);
  expect(result.flaws[0]).toContain('every object that the manifest names exists');
});
