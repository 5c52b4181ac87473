import { FAULT_KINDS } from '../../scripts/soak/plan';
import type { SoakResult } from '../../scripts/soak/run';
import { IS_LONG } from '../support/long';
import { runScript } from '../support/script';

const MINUTES = IS_LONG ? 30 : 0.5;
const SEEDS = IS_LONG ? ['1', '2', '3'] : ['1'];

/**
 * The load is small, because the soak looks for mistakes, and the tests that run at the same time need the machine,
 * too.
 */
const LOAD = ['--senders', '7', '--metrics', '4'];

describe('a soak', () => {
  test.each(SEEDS)(`of ${MINUTES} min with seed %s loses, doubles and alters nothing`, async (seed) => {
    // It exits with 1 when it finds a flaw, and still prints its result.
    const args = ['--seed', seed, '--minutes', String(MINUTES), '--json', ...LOAD];
    const { out, err } = await runScript('soak', args);
    const lastLine = out.trim().split('\n').at(-1)!;
    // Show the figures of longer runs.
    if (MINUTES > 1) console.log(lastLine);
    if (!lastLine.startsWith('{')) throw new Error(err);
    const result = JSON.parse(lastLine) as SoakResult;
    const { lost, doubled, wrong, gaps, corrupt, ruleFlaws } = result;
    const seen = err.split('\n').filter((line) => / at \d+/.test(line));
    expect({ lost, doubled, wrong, gaps, corrupt, ruleFlaws, seen }).toEqual({
      lost: 0,
      doubled: 0,
      wrong: 0,
      gaps: 0,
      corrupt: 0,
      ruleFlaws: 0,
      seen: [],
    });
    const withoutEffect = FAULT_KINDS.filter((kind) => !result.kinds[kind]);
    expect(withoutEffect).toEqual([]);
    expect(result.acked).toBeGreaterThan(MINUTES * 60 * 5);
    expect(result.faults).toBeGreaterThan(MINUTES * (200 / 30));
    expect(result.kills).toBeGreaterThan(10);
    expect(result.reads).toBeGreaterThan(0);
    expect(result.ruleTicks).toBeGreaterThan(MINUTES);
  });
});
