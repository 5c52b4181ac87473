import type { Id } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { Tenant, Tenants } from '../tenancy/tenants';
import { dueTicks, type EvaluationTime } from './due-ticks';
import type {
  EvaluatedGroup,
  EvaluationAnswer,
  EvaluationRequest,
  GroupEvaluation,
  RunReport,
} from './evaluation';
import type { EvaluatorStore } from './evaluator-store';
import type { GroupIndex, IndexedGroup } from './group-index';
import type { QuietSpan } from './ingest-quiet';
import type { SendReport } from './send';

export interface EvaluatorDependencies {
  readonly index: Pick<GroupIndex, 'all' | 'forget'>;
  readonly store: Pick<EvaluatorStore, 'commit' | 'beginRun' | 'endRun' | 'putReport'>;
  readonly tenants: Pick<Tenants, 'get'>;
  /**
   * Invokes the query function, or the prober for external URLs.
   *
   * @param timeMs time after which the answer is no longer awaited
   */
  readonly evaluate: (request: EvaluationRequest, timeMs: number) => Promise<EvaluationAnswer>;
  /**
   * Puts samples into the stream.
   *
   * @param body zstd of a `prometheus.WriteRequest`
   */
  readonly write: (tenant: Tenant, body: Uint8Array) => Promise<void>;
  /** Sends the tenants' notifications to their receivers. */
  readonly send: (
    tenants: readonly Pick<Tenant, 'id' | 'name'>[],
    hasTime: () => boolean,
  ) => Promise<SendReport>;
  /** Returns the lag of the slowest consumer of the stream, in ms. */
  readonly lagMs: () => Promise<number>;
  /**
   * Returns the last span in which tenants posted almost nothing, as known at the given time.
   *
   * @param tenants tenants with rules
   */
  readonly quiet: (tenants: readonly Id[], nowMs: number) => Promise<QuietSpan | undefined>;
  /**
   * Cache of the newest tick that this process has seen completed, in ms, by {@link keyOf}. It only saves
   * invocations.
   */
  readonly done: Map<string, number>;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** Time after which a run starts no group, in ms. Lambda ends the run after a minute. */
const BEGIN_MS = 50_000;
/**
 * Time after which a run no longer waits for evaluations, in ms. The remaining time is for committing the
 * answers.
 */
const WAIT_MS = 54_000;
/** Time after a run's start, in ms, from which the next run may begin even if this run was killed. */
const RUN_MS = 58_000;
const HALF_MINUTE_MS = 30_000;
/** Number of parallel invocations of the query function. */
const PARALLEL = 8;
/** Maximum number of rules in an invocation that serves several tenants. */
const MAX_RULES = 100;
/** Number of a tenant's rules that are evaluated together. Its other rules wait until every tenant has had a batch. */
const BATCH_RULES = 500;
/**
 * Minimum age of an index entry without a group before it is dropped, in ms. A request may still be about to
 * store the group.
 */
const FORGET_MS = 120_000;

/** Identifies a group among the groups of all tenants. */
function keyOf({ tenantId, group }: Pick<IndexedGroup, 'tenantId' | 'group'>): string {
  return `${tenantId} ${group}`;
}

/**
 * Evaluates every due tick. If any group has an interval of half a minute, also waits for the ticks that
 * begin during the run.
 *
 * A tick's samples are put into the stream before the tick is committed. If a run ends in between, the tick
 * is evaluated again and yields the same samples.
 *
 * @param atMs evaluates what is due at this time instead of now, without waiting
 */
export async function runEvaluator(
  dependencies: EvaluatorDependencies,
  run: Id,
  atMs?: number,
): Promise<RunReport> {
  const { store, now, sleep } = dependencies;
  const startedMs = now();
  const report = {
    groups: 0,
    ticks: 0,
    skipped: 0,
    failedGroups: 0,
    failingRules: 0,
    failedRequests: 0,
    quietMs: 0,
    dropped: 0,
    outboxAgeMs: 0,
    lagMs: 0,
  };
  const indexed = await dependencies.index.all();
  report.groups = indexed.length;
  if (!(await store.beginRun(run, startedMs + RUN_MS))) return { began: false, ...report };
  try {
    const tenants = [...new Set(indexed.map(({ tenantId }) => tenantId))];
    const pass = new Pass(dependencies, report, startedMs, tenants);
    const evaluate = async (groups: readonly IndexedGroup[]) => {
      if (groups.length > 0) await pass.evaluate(groups, atMs ?? now());
    };
    const external = indexed.filter(({ kind }) => kind === 'external');
    const others = indexed.filter(({ kind }) => kind !== 'external');
    // URLs that hang must not delay other alerts.
    await Promise.all([
      evaluate(external),
      // Send even if no group is due: reports of checks create batches that belong to no group.
      evaluate(others).then(() => pass.send(indexed)),
    ]);
    if (external.length > 0) await pass.send(external);
    const frequent = indexed.filter(({ intervalMs }) => intervalMs <= HALF_MINUTE_MS);
    if (frequent.length > 0 && atMs === undefined)
      for (;;) {
        const nextMs = (Math.floor(now() / HALF_MINUTE_MS) + 1) * HALF_MINUTE_MS;
        if (nextMs - startedMs >= BEGIN_MS) break;
        await sleep(nextMs - now());
        await pass.evaluate(frequent, now());
        await pass.send(frequent);
      }
    await store.putReport({ atMs: now(), ...report });
  } finally {
    await store.endRun(run);
  }
  return { began: true, ...report };
}

/**
 * Divides groups among invocations. Each tenant's first batch comes before any tenant's second, so a tenant with many
 * rules does not delay the others. The rules of a batch are evaluated together, so that they share reads. Tenants with
 * few rules share invocations.
 */
export function planInvocations(
  groups: readonly IndexedGroup[],
  maxRules = MAX_RULES,
  batchRules = BATCH_RULES,
): IndexedGroup[][] {
  const planned: { readonly batch: number; readonly group: IndexedGroup }[] = [];
  const ofTenant = new Map<Id, number>();
  for (const group of groups) {
    const before = ofTenant.get(group.tenantId) ?? 0;
    ofTenant.set(group.tenantId, before + rulesOf([group]));
    planned.push({ batch: Math.floor(before / batchRules), group });
  }
  const batches = [...Map.groupBy(planned, ({ batch }) => batch)].sort(([a], [b]) => a - b);
  return batches.flatMap(([, members]) => {
    const inBatch = members.map(({ group }) => group);
    const invocations: IndexedGroup[][] = [];
    let rules = Infinity;
    for (const together of Map.groupBy(inBatch, ({ tenantId }) => tenantId).values()) {
      rules += rulesOf(together);
      if (rules > maxRules) {
        invocations.push([]);
        rules = rulesOf(together);
      }
      invocations.at(-1)!.push(...together);
    }
    return invocations;
  });
}

function rulesOf(groups: readonly IndexedGroup[]): number {
  return groups.reduce((sum, { rules }) => sum + Math.max(1, rules), 0);
}

type Report = { -readonly [K in keyof Omit<RunReport, 'began'>]: RunReport[K] };

class Pass {
  constructor(
    private readonly dependencies: EvaluatorDependencies,
    private readonly report: Report,
    private readonly startedMs: number,
    /** All tenants with groups, including those without a group in this pass. */
    private readonly tenants: readonly Id[],
  ) {}

  private readonly hasTime = () => this.elapsedMs() < BEGIN_MS;

  private elapsedMs(): number {
    return this.dependencies.now() - this.startedMs;
  }

  async evaluate(groups: readonly IndexedGroup[], nowMs: number): Promise<void> {
    const lagMs = await this.dependencies.lagMs();
    this.report.lagMs = Math.max(this.report.lagMs, lagMs);
    const quiet = await this.dependencies.quiet(this.tenants, nowMs);
    if (quiet !== undefined && quiet.toMs === undefined) this.report.quietMs = nowMs - quiet.fromMs;
    const time = { nowMs, lagMs, ...(quiet !== undefined && { quiet }) };
    const due = groups.filter((group) => this.mayBeDue(group, nowMs));
    const invocations = [...Map.groupBy(due, ({ kind }) => kind).values()].flatMap((groups) =>
      planInvocations(groups),
    );
    await mapLimited(invocations, PARALLEL, (batch) => this.evaluateBatch(batch, time));
  }

  async send(groups: readonly IndexedGroup[]): Promise<void> {
    const tenants = new Map(groups.map(({ tenantId, tenant }) => [tenantId, { id: tenantId, name: tenant }]));
    try {
      const sent = await this.dependencies.send([...tenants.values()], this.hasTime);
      this.report.failedRequests += sent.failed;
      this.report.dropped += sent.dropped;
      this.report.outboxAgeMs = Math.max(this.report.outboxAgeMs, sent.outboxAgeMs);
    } catch (error) {
      this.report.failedGroups++;
      log.error('notifications were not sent', { error: error as Error });
    }
  }

  private mayBeDue(group: IndexedGroup, nowMs: number): boolean {
    const doneMs = this.dependencies.done.get(keyOf(group));
    if (group.rules === 0 || doneMs === undefined) return true;
    const { intervalMs } = group;
    return dueTicks({ intervalMs, queryOffsetMs: 0 }, doneMs, { nowMs, lagMs: 0 }).ticks.length > 0;
  }

  private async evaluateBatch(batch: readonly IndexedGroup[], time: EvaluationTime): Promise<void> {
    let rest = batch;
    while (rest.length > 0) {
      if (!this.hasTime()) {
        this.report.failedGroups += rest.length;
        return;
      }
      const answers = await this.ask(rest, time);
      if (answers === undefined) return this.evaluateApart(rest, time);
      const outcomes = await mapLimited(rest, PARALLEL, async (group) => {
        const answer = answers.find((each) => each.group === group.group && each.tenant === group.tenant);
        return answer === undefined ? 'unanswered' : this.finish(group, answer, time.nowMs);
      });
      const left = rest.filter((_, i) => outcomes[i] === 'unanswered' || outcomes[i] === 'more');
      if (answers.length === 0) {
        this.report.failedGroups += left.length;
        return;
      }
      rest = left;
    }
  }

  /**
   * Evaluates each tenant's groups separately after a joint invocation failed, so that one tenant's failure
   * does not affect the others.
   */
  private async evaluateApart(groups: readonly IndexedGroup[], time: EvaluationTime): Promise<void> {
    const byTenant = [...Map.groupBy(groups, ({ tenantId }) => tenantId).values()];
    if (byTenant.length === 1) this.report.failedGroups += groups.length;
    else for (const together of byTenant) await this.evaluateBatch(together, time);
  }

  /**
   * @returns undefined when the invocation failed
   */
  private async ask(
    groups: readonly IndexedGroup[],
    time: EvaluationTime,
  ): Promise<EvaluationAnswer | undefined> {
    try {
      const request = {
        ...time,
        kind: groups[0]!.kind,
        groups: groups.map(({ tenant, group }) => ({ tenant, group })),
      };
      return await this.dependencies.evaluate(request, Math.max(0, WAIT_MS - this.elapsedMs()));
    } catch (error) {
      log.error('rules or monitors were not evaluated', { groups: groups.length, error: error as Error });
      return undefined;
    }
  }

  /**
   * @returns `more` when the group has further due ticks
   */
  private async finish(
    group: IndexedGroup,
    evaluation: GroupEvaluation,
    nowMs: number,
  ): Promise<'done' | 'more'> {
    const { index, now } = this.dependencies;
    switch (evaluation.outcome) {
      case 'idle':
        return 'done';
      case 'gone':
        if (now() - group.changedMs > FORGET_MS) await index.forget(group);
        return 'done';
      case 'failed':
        this.report.failedGroups++;
        log.error('a rule group or monitor could not be evaluated', { ...evaluation });
        return 'done';
      default:
        return (await this.commit(group, evaluation, nowMs)) && evaluation.hasMore ? 'more' : 'done';
    }
  }

  private async commit(group: IndexedGroup, evaluated: EvaluatedGroup, nowMs: number): Promise<boolean> {
    const { store, tenants, write, done } = this.dependencies;
    const { tenantId, kind, group: id, tenant: name } = group;
    const { report } = this;
    try {
      const tenant = await tenants.get(name);
      if (tenant === undefined) return false;
      for (const body of evaluated.samples) await write(tenant, Buffer.from(body, 'base64'));
      const { state, afterMs, tickMs, batches } = evaluated;
      const isCommitted = await store.commit({
        tenantId,
        kind,
        group: id,
        afterMs,
        tickMs,
        state: state === undefined ? undefined : Buffer.from(state, 'base64'),
        batches: batches.map((batch) => Buffer.from(batch, 'base64')),
      });
      if (!isCommitted) {
        log.warn('another evaluator committed the tick first', { tenant: name, group: id, tickMs });
        done.delete(keyOf(group));
        return false;
      }
      done.set(keyOf(group), tickMs);
      report.ticks += evaluated.ticks;
      report.skipped += evaluated.skipped;
      report.failingRules += evaluated.failing;
      if (!evaluated.hasMore) report.lagMs = Math.max(report.lagMs, nowMs - tickMs);
      return true;
    } catch (error) {
      report.failedGroups++;
      log.error('a tick was not committed', { tenant: name, group: id, error: error as Error });
      return false;
    }
  }
}
