import type { Id } from '../model/id';
import type { EvaluationTime } from './due-slots';

/** What a group is made of: the rules of a file, or one of Mackerel's monitors. */
export type GroupKind = 'rule' | 'monitor';

/**
 * The call by which the evaluator, which is outside of the VPC, lets the query function evaluate rule groups, and its answer. The query
 * function reads groups, states and samples, and writes nothing.
 */
export interface EvaluationRequest {
  readonly evaluateRules: {
    readonly nowMs: number;
    readonly lagMs: number;
    readonly quiet?: EvaluationTime['quiet'];
    /** All groups of a call are of one kind. @default 'rule' */
    readonly kind?: GroupKind;
    readonly groups: readonly { readonly tenant: string; readonly group: Id }[];
  };
}

/** The bounds of one invocation that evaluates rules or monitors. */
export const INVOCATION = {
  /** No group and no slot begins later than this, ms. */
  beginMs: 15_000,
  /** Queries are given up after this time, ms; the function's time-out is 29 s. */
  queryMs: 24_000,
  /** An answer that has more characters of base64 than this takes no further group. Lambda refuses answers over 6 MB. */
  maxAnswer: 3_000_000,
} as const;

/** What became of a group. */
export type GroupEvaluation = {
  readonly tenant: string;
  readonly group: Id;
} & (
  | { readonly outcome: 'idle' }
  /** Neither the group nor a state of it is there: the index may forget it. */
  | { readonly outcome: 'gone' }
  /** The evaluation of the group as a whole failed. */
  | { readonly outcome: 'failed'; readonly reason: string }
  | ({ readonly outcome: 'evaluated' | 'removed' } & EvaluatedGroup)
);

/** What became of a group, without its name. */
export type Outcome<T = GroupEvaluation> = T extends unknown ? Omit<T, 'tenant' | 'group'> : never;

export interface EvaluatedGroup {
  /** The slot of the state that was read; undefined: there was none. */
  readonly afterMs?: number;
  readonly slotMs: number;
  /** Base64 of an encoded state; absent for a removed group. */
  readonly state?: string;
  /** Base64 of zstd of bodies of remote write, which have the samples of all slots. */
  readonly samples: readonly string[];
  /** Base64 of encoded batches of notifications. */
  readonly batches: readonly string[];
  readonly slots: number;
  readonly skipped: number;
  readonly rules: number;
  /** Rules whose last evaluation failed. */
  readonly failing: number;
  /** Whether due slots are left. */
  readonly hasMore: boolean;
}

/** One for each group of the request that time sufficed for. */
export type EvaluationAnswer = readonly GroupEvaluation[];

/** Encodes bytes for an answer. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
