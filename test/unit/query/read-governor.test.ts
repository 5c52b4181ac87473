import { ReadGovernor } from '../../../shared/query/read-governor';

function governorOf(scalingUntilMs: () => Promise<number>) {
  const clock = { ms: 1_000 };
  let looks = 0;
  const recovery = {
    scalingUntilMs: () => {
      looks++;
      return scalingUntilMs();
    },
  };
  return { governor: new ReadGovernor(recovery, () => clock.ms), clock, looks: () => looks };
}

/**
 * A governor that has already read the time from the table. A governor's first read starts this look-up without
 * waiting for it.
 */
async function knowing(scalingUntilMs: number) {
  const made = governorOf(async () => scalingUntilMs);
  await made.governor.wait();
  await new Promise(setImmediate);
  return made;
}

describe('the governor of reads', () => {
  test.each([
    { name: 'no command moves slots: immediately', untilMs: 0, waitedMs: 0 },
    { name: 'a command moves slots', untilMs: 1_001, waitedMs: 16 },
    { name: 'what was noted has expired', untilMs: 1_000, waitedMs: 0 },
  ])('$name', async ({ untilMs, waitedMs }) => {
    const { governor } = await knowing(untilMs);
    await governor.wait();
    expect(governor.waitedMs).toBe(waitedMs);
  });

  test('reads the table now and then, and no read waits for it', async () => {
    const made = governorOf(() => new Promise(() => {}));
    for (const ms of [0, 1_000, 1_999, 2_000, 3_000, 4_000]) {
      made.clock.ms = 1_000 + ms;
      await made.governor.wait();
    }
    expect(made.looks()).toBe(3);
    expect(made.governor.waitedMs).toBe(0);
  });

  test('uses its last knowledge while the table does not answer', async () => {
    const responses = [Promise.resolve(90_000), Promise.reject(new Error('down'))];
    const made = governorOf(() => responses.shift()!);
    await made.governor.wait();
    await new Promise(setImmediate);
    made.clock.ms += 2_000;
    await made.governor.wait();
    await new Promise(setImmediate);
    await made.governor.wait();
    expect(made.governor.waitedMs).toBe(32);
  });

  test('calls that wait together wait once', async () => {
    const { governor } = await knowing(9_000);
    await Promise.all(Array.from({ length: 20 }, () => governor.wait()));
    expect(governor.waitedMs).toBe(16);
    await governor.wait();
    expect(governor.waitedMs).toBe(32);
  });
});
