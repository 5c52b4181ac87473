/** How long calls of the stores may take before they fail. */
export interface CallTimes {
  /** Until a connection to AWS is there, ms. */
  readonly connectMs: number;
  /** Until AWS answers one attempt, ms. A direct call is one attempt; after it the SDK makes its own. */
  readonly attemptMs: number;
  /** All the SDK's attempts together, and the body of the answer, ms. */
  readonly totalMs: number;
  /** A command of the hot tier, its redirections, retries and waiting for a connection included, ms. */
  readonly commandMs: number;
}

/** For functions that a request waits for: a store that hangs is answered within five seconds (a test measures it). */
export const ANSWERING: CallTimes = { connectMs: 1_000, attemptMs: 1_500, totalMs: 2_500, commandMs: 4_000 };

/** For functions that nobody waits for; what fails is done again by the next delivery, tick or command. */
export const WORKING: CallTimes = { connectMs: 2_000, attemptMs: 5_000, totalMs: 15_000, commandMs: 5_000 };

/**
 * The longest that one call of the hot tier takes, ms: a script that a node does not know is sent twice. Several of them fit
 * into the shortest timeout of a function that makes them one after the other (a test compares).
 */
export const MAX_CALL_MS = 2 * WORKING.commandMs;

/**
 * Left of an ingester's invocation when its last partition begins, ms. A few calls that a store does not answer fit, and
 * then the ingester can still say which records failed.
 */
export const INGEST_MARGIN_MS = 6 * MAX_CALL_MS;
