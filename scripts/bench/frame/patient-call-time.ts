/**
 * Replaces shared/platform/call-time in the bundles of workers: the stand-in for AWS takes seconds for an answer on a slow machine,
 * and a benchmark that failed then would measure nothing.
 */
import * as deployed from '../../../shared/platform/call-time';

export { INGEST_MARGIN_MS, MAX_CALL_MS } from '../../../shared/platform/call-time';

/** How long the stand-in for AWS, or Valkey, may take to answer, ms. */
export const PATIENCE_MS = 60_000;
const patient = (times: deployed.CallTimes): deployed.CallTimes => ({
  ...times,
  attemptMs: PATIENCE_MS,
  totalMs: PATIENCE_MS,
  commandMs: PATIENCE_MS,
});

export const ANSWERING = patient(deployed.ANSWERING);
export const WORKING = patient(deployed.WORKING);
