import type { Id } from '../../model/id';
import type { EvaluationTime } from './due-ticks';

/** Kinds of tasks: a rule group, a monitor of samples, or a monitor of an external URL. */
export type TaskKind = 'rule' | 'monitor' | 'external';

/** Refers to a task by its tenant's name and its id. */
export interface TaskRef {
  readonly tenant: string;
  readonly task: Id;
}

/** A request to evaluate the due ticks of some tasks. */
export interface EvaluationRequest extends EvaluationTime {
  /** Kind of all tasks in the request. */
  readonly kind: TaskKind;
  readonly tasks: readonly TaskRef[];
}

/**
 * The event with which the evaluator, which runs outside the VPC, invokes the query function to evaluate rule
 * groups or monitors. The query function reads tasks, states and samples, and writes none of them.
 */
export interface EvaluationEvent {
  readonly evaluate: EvaluationRequest;
}

/** Returns whether an event comes from the evaluator. All other events are API requests, which never have this form. */
export function isEvaluation(event: unknown): event is EvaluationEvent {
  return typeof event === 'object' && event !== null && 'evaluate' in event;
}

/** Result of evaluating a task. */
export type Outcome =
  | { readonly outcome: 'idle' }
  /** Neither the task nor its state exists, so the index may drop it. */
  | { readonly outcome: 'gone' }
  /** The task as a whole failed. */
  | { readonly outcome: 'failed'; readonly reason: string }
  | ({ readonly outcome: 'evaluated' } & EvaluatedTask);

export type TaskEvaluation = TaskRef & Outcome;

export interface EvaluatedTask {
  /** Newest tick of the state on which the evaluation is based; undefined if there was no state. */
  readonly afterMs?: number;
  readonly tickMs: number;
  /** Encoded state, in base64; absent for a removed task. */
  readonly state?: string;
  /** Samples of all ticks, as remote-write bodies. Each body is compressed with zstd and encoded in base64. */
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

/** One result for each task of the request, except tasks for which no time was left. */
export type EvaluationResponse = readonly TaskEvaluation[];

/** What a run of the evaluator did. */
export interface RunReport {
  /** False when another run was in progress, so that this one did nothing. */
  readonly began: boolean;
  readonly tasks: number;
  readonly ticks: number;
  /** Number of ticks that were too old to be evaluated. */
  readonly skipped: number;
  /** Number of tasks that could not be evaluated or committed. The next run retries them. */
  readonly failedTasks: number;
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
  /** Age of the oldest batch that waits for a destination, in ms. */
  readonly outboxAgeMs: number;
  /**
   * Delay of the task that is furthest behind, in ms. A task is behind if its newest completed tick is old,
   * or if the samples that it reads have not reached the tiers.
   */
  readonly lagMs: number;
}
