/** Time limits of calls to the stores. */
export interface CallTimes {
  /** Time to establish a connection to AWS, ms. */
  readonly connectMs: number;
  /** Time for AWS to answer one attempt, ms. A direct call (direct-call.ts) is one attempt. */
  readonly attemptMs: number;
  /** Time for all attempts of the SDK together, until the whole reply has arrived, ms. */
  readonly totalMs: number;
  /**
   * Time for a command to the memory tier, including redirections, retries and the wait for a connection, ms.
   */
  readonly commandMs: number;
}

/** Limits of functions that answer requests. If a store hangs, a request fails within five seconds. */
export const ANSWERING: CallTimes = { connectMs: 1_000, attemptMs: 1_500, totalMs: 2_500, commandMs: 4_000 };

/** Limits of functions in the background. A later delivery, schedule or command repeats what has failed. */
export const WORKING: CallTimes = { connectMs: 2_000, attemptMs: 5_000, totalMs: 15_000, commandMs: 5_000 };

/**
 * Longest time of one call of the memory tier, ms. It may be two commands, since a script that a node does
 * not know yet is sent again. The shortest time-out of a function allows several such calls, one after the
 * other.
 */
export const MAX_CALL_MS = 2 * WORKING.commandMs;

/**
 * An ingester begins no partition if its invocation has less than this time left, ms. So even if a store does
 * not answer a few calls, the ingester can still report which records have failed.
 */
export const INGEST_MARGIN_MS = 6 * MAX_CALL_MS;
