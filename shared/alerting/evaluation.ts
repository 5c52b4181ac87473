import type { Id } from '../model/id';
import { log } from '../platform/log';
import type { QueryOptions } from '../promql/query';
import type { SampleStore } from '../promql/store';
import type { Tenant } from '../tenancy/tenants';
import type { EvaluationTime } from './due-ticks';

/** The origin of a group: a rule group, a monitor of samples, or a monitor of an external URL. */
export type GroupKind = 'rule' | 'monitor' | 'external';

/**
 * The request by which the evaluator, which runs outside the VPC, has the query function evaluate rule groups or
 * monitors. The query function reads groups, states and samples and writes nothing.
 */
export interface EvaluationRequest {
  readonly evaluate: {
    readonly nowMs: number;
    readonly lagMs: number;
    readonly quiet?: EvaluationTime['quiet'];
    /** Kind of all groups in the request. */
    readonly kind: GroupKind;
    readonly groups: readonly { readonly tenant: string; readonly group: Id }[];
  };
}

/** Bounds of one invocation that evaluates rules or monitors. */
export const INVOCATION = {
  /** Time after which no group or tick is started, in ms. */
  beginMs: 15_000,
  /** Time after which queries are aborted, in ms. The function's timeout is 29 s. */
  queryMs: 24_000,
  /**
   * Characters of base64 in an answer beyond which no further group is added. Lambda refuses answers over 6
   * MB.
   */
  maxAnswer: 3_000_000,
} as const;

/** How an evaluation reads the samples of tenants. It writes nothing but their query time. */
export interface SampleInputs {
  /**
   * Returns, for a tenant, a function that creates a store for reads of at most `timeMs`. Reads that start together
   * share requests.
   */
  readonly samplesOf: (tenant: Tenant) => (timeMs: number) => SampleStore;
  readonly queryLimitsOf: (tenant: Tenant) => QueryOptions['limits'];
  /** Counts the time that a tenant's rules or monitors took, in ms, as query time of the tenant. Never fails. */
  readonly charge: (tenant: Tenant, tookMs: number) => Promise<void>;
}

export type GroupEvaluation = {
  readonly tenant: string;
  readonly group: Id;
} & (
  | { readonly outcome: 'idle' }
  /** Neither the group nor its state exists, so the index may drop it. */
  | { readonly outcome: 'gone' }
  /** The group as a whole failed. */
  | { readonly outcome: 'failed'; readonly reason: string }
  | ({ readonly outcome: 'evaluated' | 'removed' } & EvaluatedGroup)
);

/** A group's result without its identity. */
export type Outcome<T = GroupEvaluation> = T extends unknown ? Omit<T, 'tenant' | 'group'> : never;

export interface EvaluatedGroup {
  /** Tick of the state that was read; undefined if there was none. */
  readonly afterMs?: number;
  readonly tickMs: number;
  /** Encoded state, in base64; absent for a removed group. */
  readonly state?: string;
  /** Samples of all ticks, as bodies of remote write, compressed with zstd and encoded in base64. */
  readonly samples: readonly string[];
  /** Encoded batches of notifications, in base64. */
  readonly batches: readonly string[];
  readonly ticks: number;
  readonly skipped: number;
  /** Number of rules whose last evaluation failed. */
  readonly failing: number;
  /** Whether due ticks remain. */
  readonly hasMore: boolean;
}

/** One result for each group of the request, except those for which time did not suffice. */
export type EvaluationAnswer = readonly GroupEvaluation[];

/** What a run of the evaluator did. */
export interface RunReport {
  /** False when another run was in progress, so that this one did nothing. */
  readonly began: boolean;
  readonly groups: number;
  readonly ticks: number;
  /** Number of ticks that were too old to be evaluated. */
  readonly skipped: number;
  /** Number of groups that could not be evaluated or committed. The next run retries them. */
  readonly failedGroups: number;
  /** Number of rules whose last evaluation failed. */
  readonly failingRules: number;
  /** Number of failed requests to receivers. */
  readonly failedRequests: number;
  /**
   * How long tenants have posted almost nothing, in ms; 0 while they post. Rules are not evaluated during
   * that time.
   */
  readonly quietMs: number;
  /** Number of notifications that were given up. */
  readonly dropped: number;
  /** Age of the oldest batch that waits for a channel, in ms. */
  readonly outboxAgeMs: number;
  /**
   * Delay of the group that is furthest behind, in ms. A group is behind if its newest completed tick is old,
   * or if samples have not reached the tiers.
   */
  readonly lagMs: number;
}

/**
 * Logs why a group could not be evaluated.
 *
 * @param message a sentence that names the kind of group
 */
export function failed(message: string, ref: object, error: unknown): Outcome {
  log.error(message, { ...ref, error: error as Error });
  return { outcome: 'failed', reason: (error as Error).message };
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
}
