/** After which a command of the hot tier is given up, with all its redirections, retries and waiting for a connection, ms. */
export const COMMAND_MS = 5_000;

/**
 * The longest that one call of the hot tier takes, ms: a script that a node does not know is sent twice. Several of them fit
 * into the shortest timeout of a function that makes them one after the other (a test compares).
 */
export const MAX_CALL_MS = 2 * COMMAND_MS;

/**
 * Left of an ingester's invocation when its last partition is begun, ms: more than a few calls of a store that does not
 * answer take, so that it can still say which records failed.
 */
export const INGEST_MARGIN_MS = 6 * MAX_CALL_MS;
