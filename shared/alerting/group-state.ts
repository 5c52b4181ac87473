import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { getItem, queryItems, type Table } from '../platform/table';
import { NEW_RULE_STATE, type RuleState } from './evaluate-group';
import { nameOf } from './evaluate-rule';
import type { ToldAlert } from './notification';
import type { Rule, RuleGroup } from './rule-document';

/** State of a rule after the last evaluated tick. */
export interface StoredRule extends RuleState {
  /** {@link ruleIdentity} */
  readonly identity: string;
  /**
   * Expression of an alerting rule. The notification that the alerts have ended needs the expression even after the
   * rule was removed.
   */
  readonly expr: string;
  /** The rule's alerts, as last reported to receivers. */
  readonly told: readonly ToldAlert[];
}

/** State of a group after its last evaluated tick. */
export interface GroupState {
  /** The newest completed tick, in ms since epoch. */
  readonly tickMs: number;
  /** When the tick was evaluated, and for how long, in ms. */
  readonly evaluatedMs: number;
  readonly durationMs: number;
  readonly queryOffsetMs: number;
  readonly rules: readonly StoredRule[];
}

const MAX_STATE_TEXT = 256 * 1024 * 1024;

/**
 * Returns a rule's identity. A rule that has the same identity in the next version of its group keeps its
 * alerts and series.
 */
function ruleIdentity(rule: Rule): string {
  return JSON.stringify([rule.kind, nameOf(rule), rule.labels]);
}

/** A group's previous state, matched to its present rules. */
export interface CarriedState {
  /** State of each present rule of the group. */
  readonly rules: readonly StoredRule[];
  /** States of rules that the group no longer has. */
  readonly removed: readonly StoredRule[];
}

/** Finds each rule's previous state. Rules with the same identity are matched in order. */
export function carryOver(group: RuleGroup, state: GroupState | undefined): CarriedState {
  const left = new Map<string, StoredRule[]>();
  for (const each of state?.rules ?? []) left.set(each.identity, [...(left.get(each.identity) ?? []), each]);
  const rules = group.rules.map((rule) => {
    const identity = ruleIdentity(rule);
    const former = left.get(identity)?.shift();
    return { ...(former ?? { ...NEW_RULE_STATE, told: [] }), identity, expr: rule.expr };
  });
  return { rules, removed: [...left.values()].flat() };
}

/**
 * Numbers that JSON cannot represent, as strings. A string that looks like such a number, for example in a label named
 * `value`, is prefixed with a backslash.
 */
const NOT_FINITE = /^\\*(NaN|-?Infinity)$/;

/** Encodes JSON and compresses it. The `value` of an alert may be NaN or infinite. */
export function encodeJson(given: unknown): Uint8Array {
  const text = JSON.stringify(given, (key, value) => {
    if (key !== 'value') return value;
    if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
    return typeof value === 'string' && NOT_FINITE.test(value) ? `\\${value}` : value;
  });
  return zstdCompressSync(Buffer.from(text));
}

export function decodeJson(bytes: Uint8Array): unknown {
  const text = zstdDecompressSync(bytes, { maxOutputLength: MAX_STATE_TEXT }).toString('utf8');
  return JSON.parse(text, (key, value) => {
    if (key !== 'value' || typeof value !== 'string' || !NOT_FINITE.test(value)) return value;
    return value.startsWith('\\') ? value.slice(1) : Number(value);
  });
}

/**
 * Reads the states of rule groups, or of monitors, after their last evaluated ticks. The evaluator commits them
 * (evaluator-store.ts).
 */
export class GroupStates<State> {
  constructor(
    private readonly table: Table,
    private readonly of: 'rule' | 'monitor',
  ) {}

  async get(tenantId: Id, group: string): Promise<State | undefined> {
    const item = await getItem(this.table, metaKeys.groupState(this.of, tenantId, group));
    return item && (decodeJson(item.state!.B!) as State);
  }

  /** Returns the states of a tenant's rule groups or monitors, by id. */
  async list(tenantId: Id): Promise<Map<string, State>> {
    const items = await queryItems(this.table, { pk: metaKeys.groupStates(this.of, tenantId) });
    return new Map(items.map(({ sk, state }) => [sk!.S!, decodeJson(state!.B!) as State]));
  }
}
