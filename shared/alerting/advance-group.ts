import type { Labels } from '../model/labels';
import { MemorySampleStore, STALE_BITS } from '../promql/memory-store';
import { OverlayStore } from '../promql/overlay-store';
import type { QueryOptions } from '../promql/query';
import { SharedReads } from '../promql/shared-reads';
import type { SampleColumns, SampleStore } from '../promql/store';
import { dueSlots, type EvaluationTime } from './due-slots';
import { evaluateGroup } from './evaluate-group';
import { type InstantSample, RuleError } from './evaluate-rule';
import { carryOver, type GroupState, type StoredRule } from './group-state';
import { instantVector } from './instant-vector';
import { DEFAULT_INTERVAL_MS } from './lint';
import { type Notification, transitionsOf } from './notification';
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
  /** Gives each read a store, so that no read uses up the budget of another. */
  readonly store: () => SampleStore;
  readonly query: QueryOptions;
  readonly externalUrl: string;
  readonly maxAlerts: number;
  readonly defaultOffsetMs: number;
  /** Asked before each slot but the first. */
  readonly hasTime: () => boolean;
  readonly clock: () => number;
  /** Told of a rule's failure that is no fault of its expression, such as a store that does not answer. */
  readonly onFailure: (error: unknown) => void;
}

/** Samples that one slot of a group may write. */
const MAX_SAMPLES_PER_SLOT = 100_000;

/**
 * Evaluates the due slots of a group, oldest first. Every selector is read once for all slots and rules. Rules see the results of the
 * rules before them, and of the slots before, although the stream does not have them yet.
 *
 * @param state what the slot before left; undefined for a new group
 * @returns undefined when no slot is due
 */
export async function advanceGroup(
  group: RuleGroup,
  state: GroupState | undefined,
  time: EvaluationTime,
  options: AdvanceOptions,
): Promise<AdvancedGroup | undefined> {
  const { intervalMs = DEFAULT_INTERVAL_MS, queryOffsetMs = options.defaultOffsetMs } = group;
  const { slots, skipped } = dueSlots({ intervalMs, queryOffsetMs }, state?.slotMs, time);
  if (slots.length === 0) return undefined;
  const startedMs = options.clock();
  const reads = new SharedReads(options.store);
  for (const slotMs of slots)
    for (const { parsed } of group.rules) reads.expect(parsed, slotMs - queryOffsetMs);
  const written = new MemorySampleStore();
  const store = new OverlayStore(reads, written);
  const carried = carryOver(group, state);
  let { rules } = carried;
  endSeries(
    written,
    carried.removed.flatMap(({ series }) => series),
    slots[0]! - queryOffsetMs,
  );
  let done = 0;
  for (const slotMs of slots) {
    if (done > 0 && !options.hasTime()) break;
    rules = await evaluateSlot(group, rules, { slotMs, queryOffsetMs, store, written }, options);
    done++;
  }
  const slotMs = slots[done - 1]!;
  const hasMore = done < slots.length;
  const notifications: Notification[] = [];
  const told = (rule: StoredRule, isRemoved: boolean): StoredRule => {
    if (hasMore) return rule;
    const name = { id: `${options.id} ${rule.identity}`, expr: rule.expr };
    const transitions = transitionsOf(name, rule.told, isRemoved ? undefined : rule.alerts, slotMs);
    notifications.push(...transitions.notifications);
    return { ...rule, told: transitions.told };
  };
  const kept = rules.map((rule) => told(rule, false));
  // Their series have ended already. What receivers were told of them waits for the newest slot.
  const gone = carried.removed
    .map((rule) => told({ ...rule, series: [], alerts: [] }, true))
    .filter((rule) => rule.told.length > 0);
  const endedMs = options.clock();
  return {
    state: {
      slotMs,
      evaluatedMs: time.nowMs,
      durationMs: endedMs - startedMs,
      queryOffsetMs,
      rules: [...kept, ...gone],
    },
    series: await seriesOf(written),
    notifications,
    isLate: time.nowMs - slotMs > intervalMs,
    slots: done,
    skipped,
    hasMore,
  };
}

interface Slot {
  readonly slotMs: number;
  readonly queryOffsetMs: number;
  readonly store: SampleStore;
  readonly written: MemorySampleStore;
}

async function evaluateSlot(
  group: RuleGroup,
  rules: readonly StoredRule[],
  { slotMs, queryOffsetMs, store, written }: Slot,
  { query, externalUrl, maxAlerts, clock, onFailure }: AdvanceOptions,
): Promise<StoredRule[]> {
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
      query: (expr, atMs) => queryWhole(store, expr, atMs, query, onFailure),
    },
    (outcome) => {
      samples += outcome.samples.length + outcome.ended.length;
      if (samples > MAX_SAMPLES_PER_SLOT)
        throw new RuleError(`the group writes more than ${MAX_SAMPLES_PER_SLOT} samples in a slot`);
      for (const { labels, value } of outcome.samples) written.add(labels, outcome.atMs, value);
      endSeries(written, outcome.ended, outcome.atMs);
    },
  );
  return next.map((each, i) => {
    const { identity, expr, told } = rules[i]!;
    return { ...each, identity, expr, told };
  });
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
  onFailure: (error: unknown) => void,
): Promise<readonly InstantSample[]> {
  const whole: SampleStore = {
    select: async (matchers, range) => {
      const selected = await store.select(matchers, range);
      if (selected.warnings.length > 0) throw new RuleError(selected.warnings[0]!);
      return selected;
    },
  };
  try {
    return await instantVector(whole, expr, atMs, options);
  } catch (error) {
    if (error instanceof RuleError) throw error;
    onFailure(error);
    throw new RuleError('a store did not answer', { cause: error });
  }
}

async function seriesOf(written: MemorySampleStore): Promise<readonly SampleColumns[]> {
  return (await written.select([], { fromMs: -Infinity, toMs: Infinity })).series;
}

function endSeries(written: MemorySampleStore, series: readonly Labels[], atMs: number): void {
  for (const labels of series) written.add(labels, atMs, STALE_BITS);
}

/**
 * Ends what a removed group left: its series, and the alerts that receivers were told of.
 *
 * @param id names the group among all of all tenants
 */
export async function endGroup(
  state: GroupState,
  id: string,
  nowMs: number,
): Promise<Pick<AdvancedGroup, 'series' | 'notifications'>> {
  const written = new MemorySampleStore();
  endSeries(
    written,
    state.rules.flatMap(({ series }) => series),
    nowMs - state.queryOffsetMs,
  );
  const notifications = state.rules.flatMap((rule) => {
    const name = { id: `${id} ${rule.identity}`, expr: rule.expr };
    return transitionsOf(name, rule.told, undefined, nowMs).notifications;
  });
  return { series: await seriesOf(written), notifications };
}
