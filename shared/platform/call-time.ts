/** Time limits of calls to the stores. */
export interface CallTimes {
  /** Time limit for establishing a connection to AWS, in ms. */
  readonly connectMs: number;
  /** Time limit for AWS to answer one attempt, in ms. A direct call (direct-call.ts) is one attempt. */
  readonly attemptMs: number;
  /** Time limit for all attempts of the SDK together, until the whole reply has arrived, in ms. */
  readonly totalMs: number;
  /**
   * Time limit for a command to the memory tier, including redirections, retries and the wait for a connection, in ms.
   */
  readonly commandMs: number;
}

/** Limits of functions that answer requests. If a store hangs, a request fails within five seconds. */
export const REQUEST_CALL_TIMES: CallTimes = {
  connectMs: 1_000,
  attemptMs: 1_500,
  totalMs: 2_500,
  commandMs: 4_000,
};

/** Limits of background functions. A later delivery, schedule or command retries failed work. */
export const WORKING: CallTimes = { connectMs: 2_000, attemptMs: 5_000, totalMs: 15_000, commandMs: 5_000 };

/**
 * Maximum duration of one call to the memory tier, in ms. One call may send two commands, because a script that the
 * node has not cached yet is sent again in full. Even the function with the shortest time-out can make several of these
 * calls in sequence.
 */
export const MAX_CALL_MS = 2 * WORKING.commandMs;

/**
 * An ingester does not begin another partition if its invocation has less than this many ms left. This margin lets the
 * ingester report which records have failed, even if a store does not answer a few calls.
 */
export const INGEST_MARGIN_MS = 6 * MAX_CALL_MS;
