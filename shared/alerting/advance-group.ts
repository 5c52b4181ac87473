import { type Labels, labelsKey } from '../model/labels';
import { MemorySampleStore, STALE_BITS } from '../promql/memory-store';
import { OverlayStore } from '../promql/overlay-store';
import type { QueryOptions } from '../promql/query';
import type { SharedReads } from '../promql/shared-reads';
import type { SampleColumns, SampleStore } from '../promql/store';
import { type DueSlots, dueSlots, type EvaluationTime } from './due-slots';
import { evaluateGroup, type RuleState } from './evaluate-group';
import { firingSeriesOf, type InstantSample, RuleError } from './evaluate-rule';
import { carryOver, type GroupState, type StoredRule } from './group-state';
import { instantVector } from './instant-vector';
import { DEFAULT_INTERVAL_MS } from './lint';
import { type Notification, PLAIN_TELLING, type Telling, transitionsOf } from './notification';
import type { RuleGroup } from './rule-file';

/** What a group's slots leave to be written. */
export interface AdvancedGroup {
  readonly state: GroupState;
  /** The samples of all slots, stale markers included. */
  readonly series: readonly SampleColumns[];
  /** Empty unless the newest due slot was evaluated: receivers are told what is true in it. */
  readonly notifications: readonly Notification[];
  /** Whether the newest slot was evaluated more than an interval after it began. */
  readonly isLate: boolean;
  readonly slots: number;
  /** Slots that were too old to be made up. */
  readonly skipped: number;
  /** Whether due slots are left, since time was up. */
  readonly hasMore: boolean;
}

export interface AdvanceOptions {
  /** Names the group among all of all tenants. */
  readonly id: string;
  /** The samples of the tiers. */
  readonly reads: SampleStore;
  readonly query: QueryOptions;
  readonly externalUrl: string;
  readonly maxAlerts: number;
  /** Called only when receivers may have to be told of something. */
  readonly telling: () => Promise<Telling>;
  /** Asked before each slot but the first. */
  readonly hasTime: () => boolean;
  readonly clock: () => number;
  /** Told of a rule's failure that is no fault of its expression, such as a store that does not answer. */
  readonly onFailure: (error: unknown) => void;
}

/** A slot older than this, ms, is done even if its reads fail. It then keeps their errors, and the group's other rules go on. */
const MAX_PUT_OFF_MS = 15 * 60_000;
/** Most samples that one slot of a group may write. */
const MAX_SAMPLES_PER_SLOT = 100_000;

/** The slots of a group that a call evaluates. */
export interface GroupPlan extends DueSlots {
  readonly nowMs: number;
  readonly intervalMs: number;
  readonly queryOffsetMs: number;
}

/** @param state what the slot before left; undefined for a new group */
export function planGroup(
  { intervalMs = DEFAULT_INTERVAL_MS, queryOffsetMs }: RuleGroup,
  state: GroupState | undefined,
  time: EvaluationTime,
  defaultOffsetMs: number,
): GroupPlan {
  const times = { intervalMs, queryOffsetMs: queryOffsetMs ?? defaultOffsetMs };
  return { ...dueSlots(times, state?.slotMs, time), ...times, nowMs: time.nowMs };
}

/** Announces what a group's slots will read, so that groups of a tenant share reads. */
export function expectReads(reads: SharedReads, group: RuleGroup, { slots, queryOffsetMs }: GroupPlan): void {
  for (const slotMs of slots)
    for (const { parsed } of group.rules) reads.expect(parsed, slotMs - queryOffsetMs);
}

/**
 * Evaluates the slots of a plan, oldest first. Rules see the results of the rules before them, and of the slots before, although the
 * stream does not have them yet.
 *
 * A slot whose samples cannot be read is put off: nothing of it is kept but the errors, and it stays due. So an outage of a store leaves
 * no hole, unless it lasts.
 *
 * @param state what the slot before left; undefined for a new group
 */
export async function advanceGroup(
  group: RuleGroup,
  state: GroupState | undefined,
  { slots, skipped, nowMs, intervalMs, queryOffsetMs }: GroupPlan,
  options: AdvanceOptions,
): Promise<AdvancedGroup> {
  const startedMs = options.clock();
  const written = new MemorySampleStore();
  const carried = carryOver(group, state);
  let { rules } = carried;
  const ended = carried.removed.flatMap(({ series }) => series);
  endSeries(written, ended, slots[0]! - queryOffsetMs);
  let done = 0;
  let isPutOff = false;
  for (const slotMs of slots) {
    if (done > 0 && !options.hasTime()) break;
    const slot = await evaluateSlot(group, rules, { slotMs, queryOffsetMs, written }, options);
    isPutOff = slot.isUnreadable && state !== undefined && nowMs - slotMs < MAX_PUT_OFF_MS;
    if (isPutOff) {
      rules = rules.map((rule, i) => withErrorOf(rule, slot.rules[i]!));
      break;
    }
    rules = slot.rules;
    for (const { labels, samples } of slot.series)
      for (const [atMs, bits] of samples) written.add(labels, atMs, bits);
    done++;
  }
  // A new group is never put off, so one of them is there.
  const slotMs = done > 0 ? slots[done - 1]! : state!.slotMs;
  const isComplete = done === slots.length;
  const mayTell = [...rules, ...carried.removed].some(
    ({ alerts, told }) => told.length > 0 || alerts.some(({ state }) => state === 'firing'),
  );
  const telling = isComplete && mayTell ? await options.telling() : PLAIN_TELLING;
  const toldSlots = { slotMs, beforeMs: state?.slotMs };
  const notifications: Notification[] = [];
  const told = (rule: StoredRule, isRemoved: boolean): StoredRule => {
    if (!isComplete) return rule;
    const name = { id: `${options.id} ${rule.identity}`, expr: rule.expr };
    const alerts = isRemoved ? undefined : rule.alerts;
    const transitions = transitionsOf(name, rule.told, alerts, toldSlots, telling);
    notifications.push(...transitions.notifications);
    return { ...rule, told: transitions.told };
  };
  const kept = rules.map((rule) => told(rule, false));
  // The series of removed rules have ended already. The rules stay until the newest slot tells receivers.
  const gone = carried.removed
    .map((rule) => told({ ...rule, series: [], alerts: [] }, true))
    .filter((rule) => rule.told.length > 0);
  return {
    state: {
      slotMs,
      evaluatedMs: nowMs,
      durationMs: options.clock() - startedMs,
      queryOffsetMs,
      rules: [...kept, ...gone],
    },
    series: written.columnsOfAll(),
    notifications,
    isLate: nowMs - slotMs > intervalMs,
    slots: done,
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

interface Slot {
  readonly slotMs: number;
  readonly queryOffsetMs: number;
  /** The results of the slots before. */
  readonly written: SampleStore;
}

interface EvaluatedSlot {
  readonly rules: readonly StoredRule[];
  readonly series: ReturnType<MemorySampleStore['all']>;
  /** Whether samples could not be read, or not all of them. */
  readonly isUnreadable: boolean;
}

async function evaluateSlot(
  group: RuleGroup,
  rules: readonly StoredRule[],
  { slotMs, queryOffsetMs, written: before }: Slot,
  { reads, query, externalUrl, maxAlerts, clock, onFailure }: AdvanceOptions,
): Promise<EvaluatedSlot> {
  const written = new MemorySampleStore();
  const store = new OverlayStore(new OverlayStore(reads, before), written);
  let isUnreadable = false;
  const onUnreadable = (error: unknown) => {
    isUnreadable = true;
    onFailure(error);
  };
  let samples = 0;
  const next = await evaluateGroup(
    group,
    rules,
    {
      slotMs,
      queryOffsetMs,
      externalLabels: [],
      externalUrl,
      maxAlerts,
      clock,
      query: (expr, atMs) => queryWhole(store, expr, atMs, query, onUnreadable),
    },
    (outcome) => {
      samples += outcome.samples.length + outcome.ended.length;
      if (samples > MAX_SAMPLES_PER_SLOT)
        throw new RuleError(`the group writes more than ${MAX_SAMPLES_PER_SLOT} samples in a slot`);
      for (const { labels, value } of outcome.samples) written.add(labels, outcome.atMs, value);
      endSeries(written, outcome.ended, outcome.atMs);
    },
  );
  endSeries(written, firingSeriesToCome(next, slotMs), slotMs - queryOffsetMs);
  const stored = next.map((each, i) => {
    const { identity, expr, told } = rules[i]!;
    return { ...each, identity, expr, told };
  });
  return { rules: stored, series: written.all(), isUnreadable };
}

/**
 * The series that alerts which have just become pending will have when they fire. A reader finds a new series in its index a second or more
 * after its samples, but the end of a series at once: it would see neither. So a stale marker makes the series before it is needed.
 */
function firingSeriesToCome(rules: readonly RuleState[], slotMs: number): Labels[] {
  const series = rules.flatMap(({ alerts }) =>
    alerts
      .filter(({ state, activeAtMs }) => state === 'pending' && activeAtMs === slotMs)
      .map(firingSeriesOf),
  );
  if (series.length === 0) return [];
  // Another rule of the group may have an alert with the same labels, which fires.
  const written = new Set(rules.flatMap((rule) => rule.series.map(labelsKey)));
  return series.filter((labels) => !written.has(labelsKey(labels)));
}

/** Samples are known to be missing. */
class IncompleteError extends Error {
  override readonly name = 'IncompleteError';
}

/**
 * Evaluates an expression for a rule, which must not decide by samples that are missing: an answer that lacks some is a failure, as is
 * a store that does not answer. Then the rule's state stays as it was.
 */
async function queryWhole(
  store: SampleStore,
  expr: string,
  atMs: number,
  options: QueryOptions,
  onUnreadable: (error: unknown) => void,
): Promise<readonly InstantSample[]> {
  const whole: SampleStore = {
    select: async (matchers, range) => {
      const selected = await store.select(matchers, range);
      if (selected.warnings.length > 0) throw new IncompleteError(selected.warnings[0]!);
      return selected;
    },
  };
  try {
    return await instantVector(whole, expr, atMs, options);
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
 * Ends what a removed group left: its series, and the alerts that receivers were told of. Silences do not hold these notifications back,
 * because the group's state is deleted and could not tell them later.
 *
 * @param id names the group among all of all tenants
 */
export function endGroup(
  state: GroupState,
  id: string,
  nowMs: number,
): Pick<AdvancedGroup, 'series' | 'notifications'> {
  const written = new MemorySampleStore();
  endSeries(
    written,
    state.rules.flatMap(({ series }) => series),
    nowMs - state.queryOffsetMs,
  );
  const notifications = state.rules.flatMap((rule) => {
    const name = { id: `${id} ${rule.identity}`, expr: rule.expr };
    return transitionsOf(name, rule.told, undefined, { slotMs: nowMs }).notifications;
  });
  return { series: written.columnsOfAll(), notifications };
}
