/**
 * Replaces shared/platform/call-time in the bundles of workers. On a slow machine, the stand-in for AWS takes seconds
 * to answer, so the benchmark would fail with the deployed timeouts.
 */
import * as deployed from '../../../shared/platform/call-time';

export { INGEST_MARGIN_MS, MAX_CALL_MS } from '../../../shared/platform/call-time';

/** Timeout of calls to the stand-in for AWS and to Valkey, in ms. */
export const PATIENCE_MS = 60_000;
const patient = (times: deployed.CallTimes): deployed.CallTimes => ({
  ...times,
  attemptMs: PATIENCE_MS,
  totalMs: PATIENCE_MS,
  commandMs: PATIENCE_MS,
});

export const REQUEST_CALL_TIMES = patient(deployed.REQUEST_CALL_TIMES);
export const WORKING = patient(deployed.WORKING);
