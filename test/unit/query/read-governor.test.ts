import { ReadGovernor } from '../../../shared/query/read-governor';

const NOTHING = { scalingUntilMs: 0, pressedUntilMs: 0 };

function governorOf(holds: () => Promise<typeof NOTHING>) {
  const clock = { ms: 1_000 };
  let looks = 0;
  const recovery = {
    holds: () => {
      looks++;
      return holds();
    },
  };
  return { governor: new ReadGovernor(recovery, () => clock.ms, 100), clock, looks: () => looks };
}

/**
 * A governor that has already read `holds` from the table. A governor's first read starts this look-up without waiting
 * for it.
 */
async function knowing(holds: Partial<typeof NOTHING>) {
  const made = governorOf(async () => ({ ...NOTHING, ...holds }));
  await made.governor.wait();
  await new Promise(setImmediate);
  return made;
}

describe('the governor of reads', () => {
  test.each([
    { name: 'nothing holds reads back: at once', holds: {}, waitedMs: 0 },
    { name: 'a command moves slots', holds: { scalingUntilMs: 1_001 }, waitedMs: 16 },
    { name: 'a node is pressed', holds: { pressedUntilMs: 1_001 }, waitedMs: 16 },
    {
      name: 'what was noted has expired',
      holds: { scalingUntilMs: 1_000, pressedUntilMs: 999 },
      waitedMs: 0,
    },
  ])('$name', async ({ holds, waitedMs }) => {
    const { governor } = await knowing(holds);
    await governor.wait();
    expect(governor.waitedMs).toBe(waitedMs);
  });

  test('reads the table now and then, and no read waits for it', async () => {
    const made = governorOf(() => new Promise(() => {}));
    for (const ms of [0, 50, 99, 100, 150, 200]) {
      made.clock.ms = 1_000 + ms;
      await made.governor.wait();
    }
    expect(made.looks()).toBe(3);
    expect(made.governor.waitedMs).toBe(0);
  });

  test('uses its last knowledge while the table does not answer', async () => {
    const answers = [
      Promise.resolve({ ...NOTHING, scalingUntilMs: 9_000 }),
      Promise.reject(new Error('down')),
    ];
    const made = governorOf(() => answers.shift()!);
    await made.governor.wait();
    await new Promise(setImmediate);
    made.clock.ms += 100;
    await made.governor.wait();
    await new Promise(setImmediate);
    await made.governor.wait();
    expect(made.governor.waitedMs).toBe(32);
  });

  test('calls that wait together wait once', async () => {
    const { governor } = await knowing({ scalingUntilMs: 9_000 });
    await Promise.all(Array.from({ length: 20 }, () => governor.wait()));
    expect(governor.waitedMs).toBe(16);
    await governor.wait();
    expect(governor.waitedMs).toBe(32);
  });
});
