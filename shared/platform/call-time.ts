/** Time limits of calls to the stores. */
export interface CallTimes {
  /** Time to establish a connection to AWS, ms. */
  readonly connectMs: number;
  /**
   * Time for AWS to answer one attempt, ms. A direct call is one attempt; if it fails, the SDK makes its own
   * attempts.
   */
  readonly attemptMs: number;
  /** Time for all of the SDK's attempts together, including receiving the reply, ms. */
  readonly totalMs: number;
  /** Time for a command to the hot tier, including redirections, retries and waiting for a connection, ms. */
  readonly commandMs: number;
}

/** For functions that handle requests: if a store hangs, the request fails within five seconds (tested). */
export const ANSWERING: CallTimes = { connectMs: 1_000, attemptMs: 1_500, totalMs: 2_500, commandMs: 4_000 };

/** For functions in the background: a later delivery, schedule or command repeats what failed. */
export const WORKING: CallTimes = { connectMs: 2_000, attemptMs: 5_000, totalMs: 15_000, commandMs: 5_000 };

/**
 * Longest time of one call to the hot tier, ms: a script that a node does not know yet is sent twice. The
 * shortest time-out of a function allows several consecutive calls (tested).
 */
export const MAX_CALL_MS = 2 * WORKING.commandMs;

/**
 * Remaining time of an ingester's invocation when it may begin its last partition, ms. It allows a few calls
 * that a store does not answer, after which the ingester can still report which records failed.
 */
export const INGEST_MARGIN_MS = 6 * MAX_CALL_MS;
