import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { NEW_RULE_STATE, type RuleState } from './evaluate-group';
import { nameOf } from './evaluate-rule';
import type { ToldAlert } from './notification';
import type { Rule, RuleGroup } from './rule-file';

/** What the last evaluated slot left of a rule. */
export interface StoredRule extends RuleState {
  /** {@link ruleIdentity} */
  readonly identity: string;
  /** An alerting rule's expression. When the rule is removed, the notification that its alerts ended contains it. */
  readonly expr: string;
  /** What receivers were told of its alerts. */
  readonly told: readonly ToldAlert[];
}

/** What the last evaluated slot left of a group. */
export interface GroupState {
  /** The newest slot that is done, ms since epoch. */
  readonly slotMs: number;
  /** When the slot was evaluated, and how long that took; ms. */
  readonly evaluatedMs: number;
  readonly durationMs: number;
  readonly queryOffsetMs: number;
  readonly rules: readonly StoredRule[];
}

/** Most bytes of a group's state, compressed: an item of DynamoDB holds 400 KB. */
export const MAX_STATE_BYTES = 380_000;
const MAX_STATE_TEXT = 256 * 1024 * 1024;

/** The rules of two versions of a group with the same identity are the same: they keep their alerts and series. */
export function ruleIdentity(rule: Rule): string {
  return JSON.stringify([rule.kind, nameOf(rule), rule.labels]);
}

/** A group's former state, by the rules that it has now. */
export interface CarriedState {
  /** One for each rule of the group. */
  readonly rules: readonly StoredRule[];
  /** The states of rules that the group no longer has. */
  readonly removed: readonly StoredRule[];
}

/** Finds what each rule left; among rules with the same identity, by their order. */
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

/** @returns zstd of JSON; undefined when it exceeds {@link MAX_STATE_BYTES} */
export function encodeState(state: GroupState): Uint8Array | undefined {
  const bytes = encodeJson(state);
  return bytes.length > MAX_STATE_BYTES ? undefined : bytes;
}

export function decodeState(bytes: Uint8Array): GroupState {
  return decodeJson(bytes) as GroupState;
}

/** The numbers that JSON lacks, as text. */
const NOT_FINITE: readonly unknown[] = ['NaN', 'Infinity', '-Infinity'];

/** JSON in which the `value` of an alert may be NaN or infinite, compressed. */
export function encodeJson(given: unknown): Uint8Array {
  const text = JSON.stringify(given, (key, value) =>
    key === 'value' && typeof value === 'number' && !Number.isFinite(value) ? String(value) : value,
  );
  return zstdCompressSync(Buffer.from(text));
}

export function decodeJson(bytes: Uint8Array): unknown {
  const text = zstdDecompressSync(bytes, { maxOutputLength: MAX_STATE_TEXT }).toString('utf8');
  return JSON.parse(text, (key, value) =>
    key === 'value' && NOT_FINITE.includes(value) ? Number(value) : value,
  );
}
