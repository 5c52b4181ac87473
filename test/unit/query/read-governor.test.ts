import type { Id } from '../../../shared/model/id';
import { ReadGovernor, waitOf } from '../../../shared/query/read-governor';

const [one, other] = ['tenant-1', 'tenant-2'] as Id[] as [Id, Id];
const NOTHING = { scalingUntilMs: 0, pressedUntilMs: 0 };

function governor(holds: () => Promise<typeof NOTHING>) {
  const clock = { ms: 1_000 };
  const waits: number[] = [];
  let looks = 0;
  const recovery = {
    holds: () => {
      looks++;
      return holds();
    },
  };
  const made = new ReadGovernor({
    recovery,
    now: () => clock.ms,
    onWait: (ms) => waits.push(ms),
    delayMs: 4,
    lookMs: 100,
  });
  return { governor: made, clock, waits, looks: () => looks };
}

/**
 * A governor that has read `holds` from the table. Its first read starts that look-up and does not wait for
 * it.
 */
async function knowing(holds: Partial<typeof NOTHING>) {
  const made = governor(async () => ({ ...NOTHING, ...holds }));
  await made.governor.wait(one);
  await new Promise(setImmediate);
  return made;
}

describe('the governor of reads', () => {
  test.each([
    { name: 'nothing holds reads back: at once', holds: {}, waits: 0 },
    { name: 'a command moves slots', holds: { scalingUntilMs: 1_001 }, waits: 4 },
    { name: 'a node is pressed', holds: { pressedUntilMs: 1_001 }, waits: 4 },
    { name: 'what was noted has expired', holds: { scalingUntilMs: 1_000, pressedUntilMs: 999 }, waits: 0 },
  ])('$name', async ({ holds, waits }) => {
    const made = await knowing(holds);
    expect(await made.governor.wait(one)).toBe(waits);
    expect(made.waits).toEqual(waits === 0 ? [] : [waits]);
  });

  test('reads the table now and then, and no read waits for it', async () => {
    const made = governor(() => new Promise(() => {}));
    for (const ms of [0, 50, 99, 100, 150, 200]) {
      made.clock.ms = 1_000 + ms;
      expect(await made.governor.wait(one)).toBe(0);
    }
    expect(made.looks()).toBe(3);
  });

  test('uses its last knowledge while the table does not answer', async () => {
    const answers = [
      Promise.resolve({ ...NOTHING, scalingUntilMs: 9_000 }),
      Promise.reject(new Error('down')),
    ];
    const made = governor(() => answers.shift()!);
    await made.governor.wait(one);
    await new Promise(setImmediate);
    made.clock.ms += 100;
    await made.governor.wait(one);
    await new Promise(setImmediate);
    expect(await made.governor.wait(one)).toBe(4);
  });

  test('a tenant that makes many calls waits longer, and other tenants do not', async () => {
    const made = await knowing({ scalingUntilMs: 9_000 });
    const flood = Array.from({ length: 20 }, () => made.governor.wait(one));
    expect(await made.governor.wait(other)).toBe(4);
    expect(await Promise.all(flood)).toEqual([
      ...Array(8).fill(4),
      ...Array(8).fill(8),
      ...Array(4).fill(12),
    ]);
    // No call waits any more.
    expect(await made.governor.wait(one)).toBe(4);
  });

  test.each([
    { waiting: 0, waitMs: 16 },
    { waiting: 7, waitMs: 16 },
    { waiting: 8, waitMs: 32 },
    { waiting: 80, waitMs: 176 },
    { waiting: 10_000, waitMs: 250 },
  ])('with $waiting calls before it, a call waits $waitMs ms', ({ waiting, waitMs }) => {
    expect(waitOf(16, waiting)).toBe(waitMs);
  });
});
