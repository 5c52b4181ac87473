import type { Id } from '../model/id';
import type { EvaluationTime } from './due-ticks';

/** The origin of a group: a rule group, a monitor of samples, or a monitor of an external URL. */
export type GroupKind = 'rule' | 'monitor' | 'external';

/** Refers to a rule group or monitor by its tenant's name and its id. */
export interface GroupRef {
  readonly tenant: string;
  readonly group: Id;
}

/** Asks for the due ticks of some rule groups or monitors. */
export interface EvaluationRequest extends EvaluationTime {
  /** Kind of all groups in the request. */
  readonly kind: GroupKind;
  readonly groups: readonly GroupRef[];
}

/**
 * The event by which the evaluator, which runs outside the VPC, has the query function evaluate rule groups or
 * monitors. The query function reads groups, states and samples and writes nothing.
 */
export interface EvaluationEvent {
  readonly evaluate: EvaluationRequest;
}

/** Returns whether an event is the evaluator's. All other events are API requests, which never have this form. */
export function isEvaluation(event: unknown): event is EvaluationEvent {
  return typeof event === 'object' && event !== null && 'evaluate' in event;
}

/** Result of a group. */
export type Outcome =
  | { readonly outcome: 'idle' }
  /** Neither the group nor its state exists, so the index may drop it. */
  | { readonly outcome: 'gone' }
  /** The group as a whole failed. */
  | { readonly outcome: 'failed'; readonly reason: string }
  | ({ readonly outcome: 'evaluated' } & EvaluatedGroup);

export type GroupEvaluation = GroupRef & Outcome;

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

/** One result for each group of the request, except groups for which no time was left. */
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
  /** Number of notifications that are no longer retried. */
  readonly dropped: number;
  /** Age of the oldest batch that waits for a channel, in ms. */
  readonly outboxAgeMs: number;
  /**
   * Delay of the group that is furthest behind, in ms. A group is behind if its newest completed tick is old,
   * or if samples have not reached the tiers.
   */
  readonly lagMs: number;
}
