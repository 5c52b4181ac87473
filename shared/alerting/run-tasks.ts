import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { Tenant, Tenants } from '../tenancy/tenants';
import type { SendReport } from './delivery/send';
import { dueTicks, type EvaluationTime, type QuietPeriod } from './tasks/due-ticks';
import type {
  EvaluatedTask,
  EvaluationRequest,
  EvaluationResponse,
  RunReport,
  TaskEvaluation,
} from './tasks/evaluation';
import type { EvaluatorStore } from './tasks/evaluator-store';
import type { IndexedTask, TaskIndex } from './tasks/task-index';

export interface TaskRunDependencies {
  readonly index: Pick<TaskIndex, 'all' | 'forget'>;
  readonly store: Pick<EvaluatorStore, 'commit' | 'beginRun' | 'endRun' | 'putReport'>;
  readonly tenants: Pick<Tenants, 'get'>;
  /**
   * Invokes the query function, or the prober for external URLs.
   *
   * @param timeMs how long to wait for the response, in ms
   */
  readonly evaluate: (request: EvaluationRequest, timeMs: number) => Promise<EvaluationResponse>;
  /**
   * Puts samples into the stream.
   *
   * @param body a `prometheus.WriteRequest`, compressed with zstd
   */
  readonly write: (tenant: Tenant, body: Uint8Array) => Promise<void>;
  /** Sends the tenants' notifications to their receivers. */
  readonly send: (
    tenants: readonly Pick<Tenant, 'id' | 'name'>[],
    hasTime: () => boolean,
  ) => Promise<SendReport>;
  /**
   * Returns the lag of the slowest consumer of the stream, and the arrival time of the newest record that a consumer
   * has noted, in ms.
   */
  readonly stream: () => Promise<{ readonly lagMs: number; readonly arrivedMs: number }>;
  /**
   * Returns the last period in which tenants posted almost nothing, as known at the given time.
   *
   * @param tenants tenants with rules
   */
  readonly quiet: (tenants: readonly Id[], nowMs: number) => Promise<QuietPeriod | undefined>;
  /**
   * Cache of the newest tick of each task that this process has completed, as Unix time in ms, keyed by {@link keyOf}.
   * It only saves invocations for tasks that are not due.
   */
  readonly done: Map<string, number>;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Time after which a run starts no task, in ms. Lambda ends the run after a minute. */
const BEGIN_MS = 50_000;
/**
 * Time after which a run no longer waits for evaluations, in ms. In the remaining time, it commits the
 * results.
 */
const WAIT_MS = 54_000;
/** Time after a run's start at which the next run may begin, even if this run was killed, in ms. */
const RUN_MS = 58_000;
/**
 * Time after which waiting notifications are sent although the evaluation continues, in ms. An evaluation that takes
 * the whole run, for example because of one tenant's slow rules, must not hold back all notifications. The evaluator
 * looks at the time after each invocation. An invocation takes up to 29 s, so the sending begins by 44 s.
 */
const SEND_EARLY_MS = 15_000;
const HALF_MINUTE_MS = 30_000;
/** Number of parallel invocations of the query function. */
const PARALLEL = 8;
/** Maximum number of rules in an invocation that serves several tenants. */
const MAX_RULES = 100;
/** Number of rules in a tenant's turn. The tenant's other rules wait until every tenant has had a turn. */
const TURN_RULES = 500;
/**
 * An index entry without a task is dropped only when it is older than this, in ms. For a younger entry, a
 * request may be about to store the task.
 */
const FORGET_MS = 120_000;

/** Identifies a task across all tenants. */
function keyOf({ tenantId, task }: Pick<IndexedTask, 'tenantId' | 'task'>): string {
  return `${tenantId} ${task}`;
}

/**
 * Evaluates every due tick. If any task has an interval of half a minute, also waits for the ticks that
 * begin during the run.
 *
 * A tick's samples are put into the stream before the tick is committed. If a run ends in between, the tick
 * is evaluated again and yields the same samples.
 *
 * @param atMs evaluates the ticks that are due at this time instead of now, and does not wait for more
 *   ticks
 */
export async function runTasks(
  dependencies: TaskRunDependencies,
  run: Id,
  atMs?: number,
): Promise<RunReport> {
  const { store, now, sleep } = dependencies;
  const startedMs = now();
  const report = {
    tasks: 0,
    ticks: 0,
    skipped: 0,
    failedTasks: 0,
    failingRules: 0,
    failedRequests: 0,
    quietMs: 0,
    dropped: 0,
    outboxAgeMs: 0,
    lagMs: 0,
  };
  const indexed = await dependencies.index.all();
  report.tasks = indexed.length;
  if (!(await store.beginRun(run, startedMs + RUN_MS))) return { began: false, ...report };
  const taskRun = new TaskRun(dependencies, report, startedMs, indexed);
  try {
    const evaluate = async (tasks: readonly IndexedTask[]) => {
      if (tasks.length > 0) await taskRun.evaluate(tasks, atMs);
    };
    const external = indexed.filter(({ kind }) => kind === 'external');
    const others = indexed.filter(({ kind }) => kind !== 'external');
    // Evaluate external monitors in parallel with the other tasks, so that a URL that does not answer delays
    // no other alert.
    const evaluations = [
      evaluate(external),
      // Send even if no task is due: reports of checks create batches that belong to no task.
      evaluate(others).then(() => taskRun.send(indexed)),
    ];
    // If one fails, wait for the other before the run ends. The other may still send notifications, and the next run
    // would send the same ones.
    await Promise.allSettled(evaluations);
    await Promise.all(evaluations);
    if (external.length > 0) await taskRun.send(external);
    const frequent = indexed.filter(({ intervalMs }) => intervalMs <= HALF_MINUTE_MS);
    if (frequent.length > 0 && atMs === undefined)
      for (;;) {
        const nextMs = (Math.floor(now() / HALF_MINUTE_MS) + 1) * HALF_MINUTE_MS;
        if (nextMs - startedMs >= BEGIN_MS) break;
        await sleep(nextMs - now());
        await taskRun.evaluate(frequent);
        await taskRun.send(frequent);
      }
    await store.putReport({ atMs: now(), ...report });
  } finally {
    // A failed run may still be sending. The next run would send the same notifications.
    await taskRun.sending;
    await store.endRun(run);
  }
  return { began: true, ...report };
}

/**
 * Divides tasks among invocations. Each tenant's first turn comes before any tenant's second, so a tenant with many
 * rules does not delay the others. The rules of a turn are evaluated together, so that they share reads. Tenants with
 * few rules share invocations.
 */
export function planInvocations(tasks: readonly IndexedTask[]): IndexedTask[][] {
  const planned: { readonly turn: number; readonly task: IndexedTask }[] = [];
  const ofTenant = new Map<Id, number>();
  for (const task of tasks) {
    const before = ofTenant.get(task.tenantId) ?? 0;
    ofTenant.set(task.tenantId, before + rulesOf([task]));
    planned.push({ turn: Math.floor(before / TURN_RULES), task });
  }
  const turns = [...Map.groupBy(planned, ({ turn }) => turn)].sort(([a], [b]) => a - b);
  return turns.flatMap(([, members]) => {
    const inTurn = members.map(({ task }) => task);
    const invocations: IndexedTask[][] = [];
    let rules = Infinity;
    for (const together of Map.groupBy(inTurn, ({ tenantId }) => tenantId).values()) {
      rules += rulesOf(together);
      if (rules > MAX_RULES) {
        invocations.push([]);
        rules = rulesOf(together);
      }
      invocations.at(-1)!.push(...together);
    }
    return invocations;
  });
}

function rulesOf(tasks: readonly IndexedTask[]): number {
  return tasks.reduce((sum, { rules }) => sum + Math.max(1, rules), 0);
}

type Report = { -readonly [K in keyof Omit<RunReport, 'began'>]: RunReport[K] };

/** One run of the evaluator: it evaluates tasks, sends their notifications, and keeps the time and the report. */
class TaskRun {
  constructor(
    private readonly dependencies: TaskRunDependencies,
    private readonly report: Report,
    private readonly startedMs: number,
    /** All tasks, even those that are not evaluated now. */
    private readonly indexed: readonly IndexedTask[],
  ) {}

  /** The newest sending of notifications, which never fails. Undefined before the first. */
  sending: Promise<void> | undefined;

  private readonly hasTime = () => this.elapsedMs() < BEGIN_MS;

  private elapsedMs(): number {
    return this.dependencies.now() - this.startedMs;
  }

  /** @param atMs time of the evaluation. @default now */
  async evaluate(tasks: readonly IndexedTask[], atMs?: number): Promise<void> {
    const { lagMs, arrivedMs } = await this.dependencies.stream();
    // With a clock that is minutes slow, completed ticks would look as if a wrong clock had set them, and would be
    // evaluated again. With a clock that is fast, the stream seems to lag, so ticks wait.
    const nowMs = atMs ?? Math.max(this.dependencies.now(), arrivedMs);
    this.report.lagMs = Math.max(this.report.lagMs, lagMs);
    const tenants = [...new Set(this.indexed.map(({ tenantId }) => tenantId))];
    const quiet = await this.dependencies.quiet(tenants, nowMs);
    if (quiet !== undefined && quiet.toMs === undefined) this.report.quietMs = nowMs - quiet.fromMs;
    const time = { nowMs, lagMs, ...(quiet !== undefined && { quiet }) };
    const due = tasks.filter((task) => this.mayBeDue(task, nowMs));
    const invocations = [...Map.groupBy(due, ({ kind }) => kind).values()].flatMap(planInvocations);
    await mapLimited(invocations, PARALLEL, (together) => this.evaluateTogether(together, time));
  }

  /**
   * Sends the waiting notifications of the tenants that have these tasks. If the run is already sending, waits until
   * that is done. Otherwise a notification could be sent twice.
   */
  send(tasks: readonly IndexedTask[]): Promise<void> {
    this.sending = (this.sending ?? Promise.resolve()).then(() => this.sendNow(tasks));
    return this.sending;
  }

  /** Begins to send waiting notifications if the evaluation is slow and none have been sent. */
  private sendEarly(): void {
    if (this.sending === undefined && this.elapsedMs() >= SEND_EARLY_MS) void this.send(this.indexed);
  }

  private async sendNow(tasks: readonly IndexedTask[]): Promise<void> {
    const tenants = new Map(tasks.map(({ tenantId, tenant }) => [tenantId, { id: tenantId, name: tenant }]));
    try {
      const sent = await this.dependencies.send([...tenants.values()], this.hasTime);
      this.report.failedRequests += sent.failed;
      this.report.dropped += sent.dropped;
      this.report.outboxAgeMs = Math.max(this.report.outboxAgeMs, sent.outboxAgeMs);
    } catch (error) {
      this.report.failedTasks++;
      log.error('notifications were not sent', { error });
    }
  }

  private mayBeDue(task: IndexedTask, nowMs: number): boolean {
    const doneMs = this.dependencies.done.get(keyOf(task));
    if (task.rules === 0 || doneMs === undefined) return true;
    const { intervalMs } = task;
    return dueTicks({ intervalMs, queryOffsetMs: 0 }, doneMs, { nowMs, lagMs: 0 }).ticks.length > 0;
  }

  private async evaluateTogether(tasks: readonly IndexedTask[], time: EvaluationTime): Promise<void> {
    let rest = tasks;
    while (rest.length > 0) {
      if (!this.hasTime()) {
        this.report.failedTasks += rest.length;
        return;
      }
      const responses = await this.invoke(rest, time);
      this.sendEarly();
      if (responses === undefined) return this.evaluateApart(rest, time);
      const outcomes = await mapLimited(rest, PARALLEL, async (task) => {
        const response = responses.find((each) => each.task === task.task && each.tenant === task.tenant);
        return response === undefined ? 'unanswered' : this.finish(task, response, time.nowMs);
      });
      const left = rest.filter((_, i) => outcomes[i] === 'unanswered' || outcomes[i] === 'more');
      if (responses.length === 0) {
        this.report.failedTasks += left.length;
        return;
      }
      rest = left;
    }
  }

  /**
   * Evaluates each tenant's tasks separately after a joint invocation failed, so that one tenant's failure
   * does not affect the others.
   */
  private async evaluateApart(tasks: readonly IndexedTask[], time: EvaluationTime): Promise<void> {
    const byTenant = [...Map.groupBy(tasks, ({ tenantId }) => tenantId).values()];
    if (byTenant.length === 1) this.report.failedTasks += tasks.length;
    else for (const together of byTenant) await this.evaluateTogether(together, time);
  }

  /** Invokes the function that evaluates the tasks. Returns undefined when the invocation failed. */
  private async invoke(
    tasks: readonly IndexedTask[],
    time: EvaluationTime,
  ): Promise<EvaluationResponse | undefined> {
    try {
      const request = {
        ...time,
        kind: tasks[0]!.kind,
        tasks: tasks.map(({ tenant, task }) => ({ tenant, task })),
      };
      return await this.dependencies.evaluate(request, Math.max(0, WAIT_MS - this.elapsedMs()));
    } catch (error) {
      log.error('rules or monitors were not evaluated', { tasks: tasks.length, error });
      return undefined;
    }
  }

  /**
   * Commits or logs the result of a task.
   *
   * @returns `more` when the task has more due ticks
   */
  private async finish(
    task: IndexedTask,
    evaluation: TaskEvaluation,
    nowMs: number,
  ): Promise<'done' | 'more'> {
    const { index, now } = this.dependencies;
    switch (evaluation.outcome) {
      case 'idle':
        return 'done';
      case 'gone':
        if (now() - task.changedMs > FORGET_MS) await index.forget(task);
        return 'done';
      case 'failed':
        this.report.failedTasks++;
        log.error('a rule group or monitor could not be evaluated', { ...evaluation });
        return 'done';
      default:
        return (await this.commit(task, evaluation, nowMs)) && evaluation.hasMore ? 'more' : 'done';
    }
  }

  private async commit(task: IndexedTask, evaluated: EvaluatedTask, nowMs: number): Promise<boolean> {
    const { store, tenants, write, done } = this.dependencies;
    const { tenantId, kind, task: id, tenant: name } = task;
    const { report } = this;
    try {
      const tenant = await tenants.get(name);
      if (tenant === undefined) return false;
      for (const body of evaluated.samples) await write(tenant, Buffer.from(body, 'base64'));
      const { state, afterMs, tickMs, batches } = evaluated;
      const isCommitted = await store.commit({
        tenantId,
        kind,
        task: id,
        afterMs,
        tickMs,
        state: state === undefined ? undefined : Buffer.from(state, 'base64'),
        batches: batches.map((batch) => Buffer.from(batch, 'base64')),
      });
      if (!isCommitted) {
        log.warn('another evaluator committed the tick first', { tenant: name, task: id, tickMs });
        done.delete(keyOf(task));
        return false;
      }
      done.set(keyOf(task), tickMs);
      report.ticks += evaluated.ticks;
      report.skipped += evaluated.skipped;
      report.failingRules += evaluated.failing;
      if (!evaluated.hasMore) report.lagMs = Math.max(report.lagMs, nowMs - tickMs);
      return true;
    } catch (error) {
      report.failedTasks++;
      log.error('a tick was not committed', { tenant: name, task: id, error });
      return false;
    }
  }
}
