import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { planInvocations, runTasks, type TaskRunDependencies } from '../../../shared/alerting/run-tasks';
import { dueTicks } from '../../../shared/alerting/tasks/due-ticks';
import type { EvaluationResponse, TaskEvaluation } from '../../../shared/alerting/tasks/evaluation';
import type { TickCommit } from '../../../shared/alerting/tasks/evaluator-store';
import type { IndexedTask } from '../../../shared/alerting/tasks/task-index';
import { consumerLagMs } from '../../../shared/recovery/consumer-lag';
import type { Tenant } from '../../../shared/tenancy/tenants';

const groupOf = (tenant: string, task: string, rules = 1, intervalMs = 60_000): IndexedTask => ({
  tenantId: `id-${tenant}`,
  tenant,
  kind: 'rule',
  task,
  rules,
  intervalMs,
  changedMs: 0,
});

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** An evaluator whose query function evaluates each due tick of a minute to one sample. */
function evaluator(groups: readonly IndexedTask[], overrides: Partial<TaskRunDependencies> = {}) {
  let nowMs = 600_000;
  const events: string[] = [];
  const committed = new Map<string, number>();
  const clock = { set: (ms: number) => (nowMs = ms) };
  let running: string | undefined;
  const dependencies: TaskRunDependencies = {
    index: {
      all: async () => [...groups],
      forget: async ({ task }) => void events.push(`forget ${task}`),
    },
    store: {
      beginRun: async (run) => {
        if (running !== undefined) return false;
        running = run;
        return true;
      },
      putReport: async () => {},
      endRun: async () => {
        running = undefined;
      },
      commit: async ({ task, afterMs, tickMs }: TickCommit) => {
        if (committed.get(task) !== afterMs) return false;
        committed.set(task, tickMs);
        events.push(`commit ${task} ${tickMs / 60_000}`);
        return true;
      },
    },
    tenants: { get: async (name) => ({ id: `id-${name}`, name }) as Tenant },
    evaluate: async ({ nowMs: atMs, tasks: asked }): Promise<EvaluationResponse> =>
      asked.map(({ tenant, task }): TaskEvaluation => {
        const tickMs = Math.floor(atMs / 60_000) * 60_000;
        const afterMs = committed.get(task);
        if (afterMs !== undefined && afterMs >= tickMs) return { tenant, task, outcome: 'idle' };
        return {
          tenant,
          task,
          outcome: 'evaluated',
          tickMs,
          state: base64('state'),
          ...(afterMs !== undefined && { afterMs }),
          samples: [base64(`${task} ${tickMs / 60_000}`)],
          batches: [],
          ticks: 1,
          skipped: 0,
          failing: 0,
          hasMore: false,
        };
      }),
    write: async (_, body) => {
      events.push(`write ${Buffer.from(body).toString()}`);
    },
    send: async () => ({ sent: 0, failed: 0, dropped: 0, outboxAgeMs: 0 }),
    stream: async () => ({ lagMs: 0, arrivedMs: 0 }),
    quiet: async () => undefined,
    done: new Map(),
    now: () => nowMs,
    sleep: async (ms) => clock.set(nowMs + ms),
    ...overrides,
  };
  return { dependencies, events, committed, clock };
}

test('the stream has the samples of a tick before the tick is committed', async () => {
  const { dependencies, events } = evaluator([groupOf('a', 'g')]);
  expect(await runTasks(dependencies, 'run')).toMatchObject({ began: true, ticks: 1, lagMs: 0 });
  expect(events).toEqual(['write g 10', 'commit g 10']);
  // A second trigger finds that the tick is done.
  expect(await runTasks(dependencies, 'run')).toMatchObject({ began: true, ticks: 0 });
  expect(events).toHaveLength(2);
});

test('evaluators whose clocks differ by hours evaluate no tick twice, and none far ahead of the stream', async () => {
  const anyRun = fc.record({
    waitMs: fc.integer({ min: 0, max: 5 * 60_000 }),
    skewMs: fc.integer({ min: -3 * 3_600_000, max: 3 * 3_600_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyRun, { minLength: 2, maxLength: 20 }), async (runs) => {
      let realMs = 86_400_000;
      let skewMs = 0;
      const ticks: number[] = [];
      const { dependencies } = evaluator([groupOf('a', 'g')], {
        now: () => realMs + skewMs,
        stream: async () => {
          // A heartbeat arrives each minute.
          const note = { arrivedMs: Math.floor(realMs / 60_000) * 60_000, lagMs: 200 };
          return { lagMs: consumerLagMs([note], realMs + skewMs, 1_000)!, arrivedMs: note.arrivedMs };
        },
        evaluate: async (request) => {
          const due = dueTicks({ intervalMs: 60_000, queryOffsetMs: 30_000 }, ticks.at(-1), request);
          ticks.push(...due.ticks);
          for (const tickMs of due.ticks) expect(tickMs - 30_000).toBeLessThan(realMs + 2 * 60_000);
          return request.tasks.map((ref) => ({ ...ref, outcome: 'idle' }));
        },
      });
      for (const run of runs) {
        realMs += run.waitMs;
        ({ skewMs } = run);
        await runTasks(dependencies, 'run');
      }
      expect(ticks).toEqual([...new Set(ticks)].sort((a, b) => a - b));
    }),
  );
});

test('an evaluator run does nothing while another run is in progress', async () => {
  const { dependencies, events } = evaluator([groupOf('a', 'g')]);
  await dependencies.store.beginRun('other', 0);
  expect(await runTasks(dependencies, 'run')).toMatchObject({ began: false, ticks: 0 });
  expect(events).toEqual([]);
});

test('notifications are sent although a tenant has so many slow rules that a run has no time for them all', async () => {
  const slow = Array.from({ length: 9 }, (_, i) => groupOf('slow', `g${i}`));
  let sending = 0;
  const sends: boolean[] = [];
  const { dependencies, clock } = evaluator(slow, {
    // An invocation has time for one rule group.
    evaluate: async ({ tasks: [first] }) => {
      clock.set(dependencies.now() + 15_000);
      return [{ ...first!, outcome: 'idle' }];
    },
    send: async (_, hasTime) => {
      expect(++sending).toBe(1);
      sends.push(hasTime());
      await null;
      sending--;
      return { sent: 0, failed: 0, dropped: 0, outboxAgeMs: 0 };
    },
  });
  expect(await runTasks(dependencies, 'run')).toMatchObject({ began: true, failedTasks: 5 });
  expect(sends).toEqual([true, false]);
});

test('notifications are sent although the second invocation of a slow rule group outlasts the time for sending', async () => {
  const sends: boolean[] = [];
  const durations = [24_000, 28_000];
  const { dependencies, clock } = evaluator([groupOf('slow', 'g'), groupOf('slow', 'h')], {
    evaluate: async ({ tasks: [first] }) => {
      clock.set(dependencies.now() + durations.shift()!);
      return [{ ...first!, outcome: 'idle' }];
    },
    send: async (_, hasTime) => {
      sends.push(hasTime());
      return { sent: 0, failed: 0, dropped: 0, outboxAgeMs: 0 };
    },
  });
  await runTasks(dependencies, 'run');
  expect(sends).toEqual([true, false]);
});

test('a run that fails while it sends ends only once it has sent', async () => {
  const { dependencies, events, clock } = evaluator([groupOf('a', 'g', 0)], {
    evaluate: async ({ tasks }) => {
      clock.set(dependencies.now() + 29_000);
      return tasks.map((each) => ({ ...each, outcome: 'gone' }));
    },
    index: {
      all: async () => [groupOf('a', 'g', 0)],
      forget: async () => Promise.reject(new Error('throttled')),
    },
    send: async () => {
      await setImmediate();
      events.push('sent');
      return { sent: 1, failed: 0, dropped: 0, outboxAgeMs: 0 };
    },
  });
  const store = { ...dependencies.store, endRun: async () => void events.push('end') };
  await expect(runTasks({ ...dependencies, store }, 'run')).rejects.toThrow('throttled');
  expect(events).toEqual(['sent', 'end']);
});

test('a run that fails in part ends only once its other part has sent its notifications', async () => {
  const url = { ...groupOf('a', 'url'), kind: 'external' as const };
  let reads = 0;
  const { dependencies, events } = evaluator([url, groupOf('a', 'g')], {
    stream: async () => {
      if (reads++ === 0) throw new Error('throttled');
      return { lagMs: 0, arrivedMs: 0 };
    },
    send: async () => {
      await setImmediate();
      events.push('sent');
      return { sent: 1, failed: 0, dropped: 0, outboxAgeMs: 0 };
    },
  });
  const { endRun } = dependencies.store;
  const store = {
    ...dependencies.store,
    endRun: async (run: string) => {
      events.push('end');
      await endRun(run);
    },
  };
  await expect(runTasks({ ...dependencies, store }, 'run')).rejects.toThrow('throttled');
  expect(events).toEqual(['write g 10', 'commit g 10', 'sent', 'end']);
});

test('a tick is evaluated again after a run that ended between its samples and its commit', async () => {
  const { dependencies, events } = evaluator([groupOf('a', 'g')]);
  const dying = {
    ...dependencies,
    store: { ...dependencies.store, commit: async () => Promise.reject(new Error('killed')) },
  };
  expect(await runTasks(dying, 'run')).toMatchObject({ ticks: 0, failedTasks: 1 });
  expect(await runTasks(dependencies, 'run')).toMatchObject({ ticks: 1 });
  expect(events).toEqual(['write g 10', 'write g 10', 'commit g 10']);
});

test('a stream that does not take the samples leaves the tick for the next run', async () => {
  const { dependencies, committed } = evaluator([groupOf('a', 'g')], {
    write: async () => Promise.reject(new Error('the stream refuses')),
  });
  expect(await runTasks(dependencies, 'run')).toMatchObject({ ticks: 0, failedTasks: 1 });
  expect(committed.size).toBe(0);
});

test('a run that cannot send notifications has failed', async () => {
  const { dependencies, committed } = evaluator([groupOf('a', 'g')], {
    send: async () => Promise.reject(new Error('the outbox cannot be read')),
  });
  expect(await runTasks(dependencies, 'run')).toMatchObject({ ticks: 1, failedTasks: 1 });
  expect(committed.size).toBe(1);
});

test('a run waits for each evaluation until its own time is up', async () => {
  const waits: number[] = [];
  const { dependencies, clock } = evaluator([groupOf('a', 'g', 100), groupOf('b', 'h', 100)]);
  await runTasks(
    {
      ...dependencies,
      stream: async () => {
        clock.set(610_000);
        return { lagMs: 0, arrivedMs: 0 };
      },
      evaluate: async (request, timeMs) => {
        waits.push(timeMs);
        return dependencies.evaluate(request, timeMs);
      },
    },
    'run',
  );
  expect(waits).toEqual([44_000, 44_000]);
});

test('the groups of one tenant fail the query function without failing other tenants', async () => {
  const groups = [groupOf('a', 'bad'), groupOf('b', 'good'), groupOf('c', 'apart', 100)];
  const { dependencies, committed } = evaluator(groups);
  const { evaluate } = dependencies;
  const failing = {
    ...dependencies,
    evaluate: async (request: Parameters<typeof evaluate>[0], timeMs: number) => {
      if (request.tasks.some(({ task }) => task === 'bad')) throw new Error('out of memory');
      return evaluate(request, timeMs);
    },
  };
  expect(await runTasks(failing, 'run')).toMatchObject({ ticks: 2, failedTasks: 1 });
  expect([...committed.keys()].sort()).toEqual(['apart', 'good']);
});

test('a run also evaluates the half-minute ticks that begin during the run', async () => {
  const { dependencies, clock } = evaluator([groupOf('a', 'fast', 1, 30_000), groupOf('a', 'slow')]);
  clock.set(607_000);
  const asked: string[] = [];
  const report = await runTasks(
    {
      ...dependencies,
      evaluate: async ({ nowMs, tasks }) => {
        asked.push(...tasks.map(({ task }) => `${task} ${nowMs / 1000}`));
        return tasks.map((each) => ({ ...each, outcome: 'idle' }));
      },
    },
    'run',
  );
  expect(report.began).toBe(true);
  expect(asked).toEqual(['fast 607', 'slow 607', 'fast 630']);
});

test('each pass of a run judges quiet ingest by the tenants of all groups', async () => {
  const heard: (readonly string[])[] = [];
  const { dependencies, clock } = evaluator(
    [groupOf('a', 'fast', 1, 30_000), groupOf('b', 'slow'), groupOf('b', 'other')],
    {
      quiet: async (tenants) => {
        heard.push(tenants);
        return undefined;
      },
    },
  );
  clock.set(607_000);
  await runTasks(dependencies, 'run');
  expect(heard).toEqual([
    ['id-a', 'id-b'],
    ['id-a', 'id-b'],
  ]);
});

test('the index forgets a removed group, but not one that a request may be putting', async () => {
  const { dependencies, events, clock } = evaluator([groupOf('a', 'g', 0)], {
    evaluate: async ({ tasks }) => tasks.map((each) => ({ ...each, outcome: 'gone' })),
  });
  clock.set(60_000);
  await runTasks(dependencies, 'run');
  expect(events).toEqual([]);
  clock.set(600_000);
  await runTasks(dependencies, 'run');
  expect(events).toEqual(['forget g']);
});

test.each([
  { name: 'tenants with few rules share an invocation', groups: ['a 33', 'b 33', 'c 34'], plan: ['a b c'] },
  { name: 'an invocation has so many rules', groups: ['a 60', 'b 60', 'c 40'], plan: ['a', 'b c'] },
  {
    name: "a tenant's next rules come after every tenant's first",
    groups: ['a 400', 'a 100', 'a 400', 'a 99', 'b 20', 'c 20'],
    plan: ['a a', 'b c', 'a a'],
  },
  { name: 'a group fills several batches', groups: ['a 1400', 'a 90', 'b 90'], plan: ['a', 'b', 'a'] },
  { name: 'a group is never divided', groups: ['a 700'], plan: ['a'] },
  { name: 'there may be nothing to do', groups: [], plan: [] },
])('$name', ({ groups, plan }) => {
  const indexed = groups.map((text, i) => {
    const [tenant, rules] = text.split(' ');
    return groupOf(tenant!, String(i), Number(rules));
  });
  expect(planInvocations(indexed).map((each) => each.map(({ tenant }) => tenant).join(' '))).toEqual(plan);
});

test('the report has what was dropped, what waits, and how long nothing was posted; the query function gets the quiet period', async () => {
  const asked: unknown[] = [];
  const { dependencies } = evaluator([groupOf('a', 'g')], {
    send: async () => ({ sent: 0, failed: 1, dropped: 2, outboxAgeMs: 3_000 }),
    quiet: async (tenants, nowMs) => ({ fromMs: nowMs - 120_000, usual: tenants.length }),
    evaluate: async (request) => {
      asked.push(request.quiet);
      return [];
    },
  });
  expect(await runTasks(dependencies, 'run')).toMatchObject({
    failedRequests: 1,
    dropped: 2,
    outboxAgeMs: 3_000,
    quietMs: 120_000,
  });
  expect(asked).toMatchObject([{ usual: 1 }]);
});
