import { type DueTicks, dueTicks, type EvaluationTime } from '../alerting/tasks/due-ticks';
import type { Notification } from '../alerting/tasks/notification';
import { type Labels, labelsKey } from '../model/labels';
import type { SampleColumns } from '../model/sample-columns';
import { MemorySampleStore, STALE_BITS } from '../promql/memory-store';
import { OverlayStore } from '../promql/overlay-store';
import type { QueryOptions } from '../promql/query';
import type { SharedReads } from '../promql/shared-reads';
import type { SampleStore } from '../promql/store';
import { firingSeriesOf, type InstantSample, RuleError } from './evaluate-rule';
import { evaluateRuleGroup, type RuleState } from './evaluate-rule-group';
import { IncompleteError, instantVector, wholeOf } from './instant-vector';
import type { RuleGroup } from './rule-document';
import { carryOver, type RuleGroupState, type StoredRule } from './rule-group-state';
import { DEFAULT_POLICY, type NotificationPolicy, transitionsOf } from './transitions';

/** Result of evaluating the due ticks of a rule group. The caller writes it. */
export interface AdvancedRuleGroup {
  readonly state: RuleGroupState;
  /** Samples of all evaluated ticks, including stale markers. */
  readonly series: readonly SampleColumns[];
  /** Empty unless the newest due tick was evaluated: receivers are notified only of the newest state. */
  readonly notifications: readonly Notification[];
  /** Whether the newest tick was evaluated more than an interval after it began. */
  readonly isLate: boolean;
  readonly ticks: number;
  /** Number of ticks that were too old to be evaluated. */
  readonly skipped: number;
  /**
   * Whether the evaluation stopped before some due ticks, because time was up, or because the earlier ticks write
   * {@link MAX_SAMPLES} samples. False if a tick was put off.
   */
  readonly hasMore: boolean;
}

export interface AdvanceOptions {
  /** Identifies the rule group across all tenants. */
  readonly id: string;
  /** Reads the tenant's stored samples. */
  readonly reads: SampleStore;
  readonly query: QueryOptions;
  readonly maxAlerts: number;
  /** Called only when receivers may need to be notified. */
  readonly policy: () => Promise<NotificationPolicy>;
  /** Returns whether there is time for another tick. Called before each tick except the first. */
  readonly hasTime: () => boolean;
  readonly clock: () => number;
  /**
   * Called when a rule fails for a reason other than its expression, such as a store that does not answer.
   */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Maximum age of a tick that is put off because its reads fail, in ms. An older tick is completed: rules
 * whose reads failed record the error, and the other rules of the rule group are evaluated.
 */
const MAX_PUT_OFF_MS = 15 * 60_000;
/** Maximum number of samples that one tick of a rule group may write. */
const MAX_SAMPLES_PER_TICK = 100_000;
/**
 * Number of samples after which no other tick is evaluated. Lambda refuses a response over 6 MB, and each retry after an
 * outage would have even more ticks to catch up.
 */
const MAX_SAMPLES = 100_000;

/** The ticks of a rule group to evaluate, and the rule group's timing. */
export interface RuleGroupPlan extends DueTicks {
  readonly nowMs: number;
  readonly intervalMs: number;
  readonly queryOffsetMs: number;
}

/**
 * Plans which ticks of a rule group to evaluate.
 *
 * @param state state after the rule group's last evaluated tick; undefined for a new rule group
 */
export function planRuleGroup(
  { intervalMs, queryOffsetMs }: RuleGroup,
  state: RuleGroupState | undefined,
  time: EvaluationTime,
  defaultOffsetMs: number,
): RuleGroupPlan {
  const times = { intervalMs, queryOffsetMs: queryOffsetMs ?? defaultOffsetMs };
  return { ...dueTicks(times, state?.tickMs, time), ...times, nowMs: time.nowMs };
}

/** Announces what the ticks of a rule group will read, so that the tenant's rule groups can share reads. */
export function expectReads(
  reads: SharedReads,
  ruleGroup: RuleGroup,
  { ticks, queryOffsetMs }: RuleGroupPlan,
): void {
  for (const tickMs of ticks)
    for (const { parsed } of ruleGroup.rules) reads.expect(parsed, tickMs - queryOffsetMs);
}

/**
 * Evaluates the ticks of a plan, oldest first. Rules see the results of earlier rules and of earlier ticks,
 * even though these results are not in the stream yet.
 *
 * A tick whose samples cannot be read is put off: only the errors are stored, and the tick stays due. So a short outage
 * of a store leaves no gap.
 *
 * @param state state after the rule group's last evaluated tick; undefined for a new rule group
 */
export async function advanceRuleGroup(
  ruleGroup: RuleGroup,
  state: RuleGroupState | undefined,
  { ticks, skipped, nowMs, intervalMs, queryOffsetMs }: RuleGroupPlan,
  options: AdvanceOptions,
): Promise<AdvancedRuleGroup> {
  const startedMs = options.clock();
  const written = new MemorySampleStore();
  const carried = carryOver(ruleGroup, state);
  let { rules } = carried;
  const ended = carried.removed.flatMap(({ series }) => series);
  endSeries(written, ended, ticks[0]! - queryOffsetMs);
  let done = 0;
  let samples = 0;
  let isPutOff = false;
  for (const tickMs of ticks) {
    if (done > 0 && (samples >= MAX_SAMPLES || !options.hasTime())) break;
    const tick = await evaluateTick(ruleGroup, rules, { tickMs, queryOffsetMs, written }, options);
    isPutOff = tick.isUnreadable && state !== undefined && nowMs - tickMs < MAX_PUT_OFF_MS;
    if (isPutOff) {
      rules = rules.map((rule, i) => withErrorOf(rule, tick.rules[i]!));
      break;
    }
    rules = tick.rules;
    for (const series of tick.series)
      for (const [atMs, bits] of series.samples) {
        written.add(series.labels, atMs, bits);
        samples++;
      }
    done++;
  }
  // The first tick of a new rule group is never put off. So either a tick was evaluated, or there is a state.
  const tickMs = done > 0 ? ticks[done - 1]! : state!.tickMs;
  const isComplete = done === ticks.length;
  const mayNotify = [...rules, ...carried.removed].some(
    ({ alerts, told }) => told.length > 0 || alerts.some(({ state }) => state === 'firing'),
  );
  const policy = isComplete && mayNotify ? await options.policy() : DEFAULT_POLICY;
  const notifiedTicks = { tickMs, beforeMs: state?.tickMs };
  const notifications: Notification[] = [];
  const told = (rule: StoredRule, isRemoved: boolean): StoredRule => {
    if (!isComplete) return rule;
    const name = { id: `${options.id} ${rule.identity}`, expr: rule.expr };
    const alerts = isRemoved ? undefined : rule.alerts;
    const transitions = transitionsOf(name, rule.told, alerts, notifiedTicks, policy);
    notifications.push(...transitions.notifications);
    return { ...rule, told: transitions.told };
  };
  const kept = rules.map((rule) => told(rule, false));
  // The series of removed rules were ended above. The rules stay in the state until the newest due tick is
  // evaluated, because only that tick notifies receivers that their alerts have ended.
  const gone = carried.removed
    .map((rule) => told({ ...rule, series: [], alerts: [] }, true))
    .filter((rule) => rule.told.length > 0);
  return {
    state: {
      tickMs,
      evaluatedMs: nowMs,
      durationMs: options.clock() - startedMs,
      queryOffsetMs,
      rules: [...kept, ...gone],
    },
    series: written.columnsOfAll(),
    notifications,
    isLate: nowMs - tickMs > intervalMs,
    ticks: done,
    skipped,
    hasMore: !isComplete && !isPutOff,
  };
}

function withErrorOf(rule: StoredRule, { lastError, durationMs }: StoredRule): StoredRule {
  const { lastError: _, durationMs: __, ...rest } = rule;
  return {
    ...rest,
    ...(lastError !== undefined && { lastError }),
    ...(durationMs !== undefined && { durationMs }),
  };
}

interface Tick {
  readonly tickMs: number;
  readonly queryOffsetMs: number;
  /** The samples that were written when earlier ticks were evaluated. */
  readonly written: SampleStore;
}

interface EvaluatedTick {
  readonly rules: readonly StoredRule[];
  readonly series: ReturnType<MemorySampleStore['all']>;
  /** Whether samples could not be read completely. */
  readonly isUnreadable: boolean;
}

async function evaluateTick(
  ruleGroup: RuleGroup,
  rules: readonly StoredRule[],
  { tickMs, queryOffsetMs, written: before }: Tick,
  { reads, query, maxAlerts, clock, onFailure }: AdvanceOptions,
): Promise<EvaluatedTick> {
  const written = new MemorySampleStore();
  const store = new OverlayStore(new OverlayStore(reads, before), written);
  let isUnreadable = false;
  const onUnreadable = (error: unknown) => {
    isUnreadable = true;
    onFailure(error);
  };
  let samples = 0;
  const next = await evaluateRuleGroup(
    ruleGroup,
    rules,
    {
      tickMs,
      queryOffsetMs,
      externalLabels: [],
      externalUrl: '',
      maxAlerts,
      clock,
      query: (expr, atMs) => queryWhole(store, expr, atMs, query, onUnreadable),
    },
    (ofRule, atMs) => {
      samples += ofRule.length;
      if (samples > MAX_SAMPLES_PER_TICK)
        throw new RuleError(`the group writes more than ${MAX_SAMPLES_PER_TICK} samples in a tick`);
      for (const { labels, value } of ofRule) written.add(labels, atMs, value);
    },
  );
  endSeries(written, firingSeriesToCome(next, tickMs), tickMs - queryOffsetMs);
  const stored = next.map((each, i) => {
    const { identity, expr, told } = rules[i]!;
    return { ...each, identity, expr, told };
  });
  return { rules: stored, series: written.all(), isUnreadable };
}

/**
 * Returns the series that newly pending alerts will have once they fire. The evaluator writes a stale marker to each of
 * them, which creates the series in advance. Otherwise, a reader could miss a short alert entirely: it may learn of a
 * new series only a second after the first samples, but sees at once the stale marker that ends the series.
 */
function firingSeriesToCome(rules: readonly RuleState[], tickMs: number): Labels[] {
  const series = rules.flatMap(({ alerts }) =>
    alerts
      .filter(({ state, activeAtMs }) => state === 'pending' && activeAtMs === tickMs)
      .map(firingSeriesOf),
  );
  if (series.length === 0) return [];
  // Skip series that a firing alert of another rule already writes.
  const written = new Set(rules.flatMap((rule) => rule.series.map(labelsKey)));
  return series.filter((labels) => !written.has(labelsKey(labels)));
}

/**
 * Evaluates an expression for a rule. Fails if samples are missing or a store does not answer. The rule then
 * keeps its state, because incomplete data must not open or end an alert.
 */
async function queryWhole(
  store: SampleStore,
  expr: string,
  atMs: number,
  options: QueryOptions,
  onUnreadable: (error: unknown) => void,
): Promise<readonly InstantSample[]> {
  try {
    return await instantVector(wholeOf(store), expr, atMs, options);
  } catch (error) {
    if (error instanceof RuleError) throw error;
    onUnreadable(error);
    const message = error instanceof IncompleteError ? error.message : 'a store did not answer';
    throw new RuleError(message, { cause: error });
  }
}

function endSeries(written: MemorySampleStore, series: readonly Labels[], atMs: number): void {
  for (const labels of series) written.add(labels, atMs, STALE_BITS);
}

/**
 * Ends a removed rule group: marks its series as ended and notifies receivers that its alerts are resolved.
 * Silences do not hold back these notifications: the rule group's state is deleted, so they could not be sent later.
 *
 * @param id identifies the rule group across all tenants
 */
export function endRuleGroup(
  state: RuleGroupState,
  id: string,
  nowMs: number,
): Pick<AdvancedRuleGroup, 'series' | 'notifications'> {
  const written = new MemorySampleStore();
  endSeries(
    written,
    state.rules.flatMap(({ series }) => series),
    nowMs - state.queryOffsetMs,
  );
  const notifications = state.rules.flatMap((rule) => {
    const name = { id: `${id} ${rule.identity}`, expr: rule.expr };
    return transitionsOf(name, rule.told, undefined, { tickMs: nowMs }).notifications;
  });
  return { series: written.columnsOfAll(), notifications };
}
