import type { Bill } from '../../scripts/simulate/bill';
import type { LineOfBill } from '../../scripts/simulate/bill-text';
import type { SimulationResult } from '../../scripts/simulate/run';
import { IS_LONG } from '../support/long';
import { runScript } from '../support/script';

const SEEDS = IS_LONG ? ['1', '2', '3', '4', '5'] : ['1'];
const DAYS = IS_LONG ? '30' : '1';

/** Little load, and actors that act often: what takes weeks happens within days. */
const SMALL = ['--hosts', '2', '--series', '2', '--pace', '6'];

/** Runs `npm run simulate`. */
const run = (...args: string[]) => runScript('simulate', ['--json', ...args]);

/** Runs it, with minutes between two ticks and between two posts, and returns the last line. */
async function simulate(minutes: string, ...args: string[]) {
  const { code, out, err } = await run(...SMALL, '--tick', minutes, '--every', minutes, ...args);
  if (out === '') throw new Error(`the simulation failed: ${err}`);
  return { code, result: JSON.parse(out.trim().split('\n').at(-1)!) as SimulationResult, err };
}

test.each(SEEDS)(
  `days of seed %s, with actors and faults, have no flaw, and the same trace again (${DAYS} days)`,
  async (seed) => {
    const args = ['--seed', seed, '--days', DAYS];
    const { result, code, err } = await simulate('20', ...args);
    if (code !== 0) throw new Error(err);
    expect(result.flaws).toEqual([]);
    expect(result.acknowledged).toBeGreaterThan(1_000);
    expect(result.stored.objects).toBeGreaterThan(0);
    expect(result.parquetSamples).toBeGreaterThan(1_000);
    expect(result.faults['response lost']).toBeGreaterThan(0);
    const again = await simulate('20', ...args);
    expect(again.result).toEqual({ ...result, secondsPerDay: expect.any(Number) });
  },
);

test('a planted bug is found: a flusher that trims what it no longer owns', async () => {
  const bug = ['--plant', 'a trim without token'];
  const { code, result } = await simulate('10', '--seed', '1', '--days', '4', '--no-shrink', ...bug);
  expect(code).toBe(1);
  expect(result.flaws[0]).toMatch(/^\S+ tenant\d+ reads /);
});

test('a bill scales the counts of a sample to the full load, and shows the forecast beside them', async () => {
  const load = ['--load', '1000x60s', '--sample', '0.1', '--batch', '100', '--reads', '0'];
  const { code, out, err } = await run(...load, '--days', '1');
  if (code !== 0) throw new Error(err);
  const { months, lines } = JSON.parse(out) as Bill & { lines: LineOfBill[] };
  expect(months).toMatchObject([{ month: '2027-03', days: 1, counted: { httpRequest: 14_400 } }]);
  for (const { what, simulated, forecast } of lines.filter(({ what }) => what === 'API requests'))
    expect([what, simulated]).toEqual([what, expect.closeTo(forecast, 6)]);
  for (const { simulated, forecast } of lines)
    expect([simulated, forecast]).toEqual([expect.any(Number), expect.any(Number)]);
  expect(lines.at(-1)).toMatchObject({ what: 'total' });
  expect(months[0]!.sizes.kinds.chunks).toBeGreaterThan(20);
});

test.each([
  { args: ['--load', '1000000'], says: "option '--load <series x interval>'" },
  {
    args: ['--load', '1000x60s', '--sample', '0.15'],
    says: '--sample 0.15: it has 150 of 1000 series, and a request has 500',
  },
  { args: ['--load', '1000x60s', '--hosts', '3'], says: '--hosts cannot be given with --load' },
  { args: ['--sample', '0.1'], says: '--sample cannot be given without --load' },
])('refuses $args', async ({ args, says }) => {
  const { code, err } = await run(...args);
  expect(code).not.toBe(0);
  expect(err).toContain(says);
});
