import * as z from 'zod';

/** The events that `ops import` sends. */
export const importEvent = z.object({
  tenant: z.string(),
  /** A `prometheus.WriteRequest` of remote write 1.0, not compressed, in base64; absent: only says which times are accepted. */
  body: z.base64().optional(),
});

/** The answer to an event. */
export interface ImportResult {
  /** Accepted times, ms since epoch, both included: a tenant's samples are kept for the retention. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Samples that are in the stream. */
  readonly samples: number;
  /** Samples left out: of invalid series, of other times, beyond what one request may have. */
  readonly refused: number;
  /** The first reasons. */
  readonly reasons: readonly string[];
}
