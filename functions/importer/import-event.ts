import * as z from 'zod';

/** The events that `ops import` sends. */
export const importEvent = z.object({
  tenant: z.string(),
  /**
   * A `prometheus.WriteRequest` of remote write 1.0, uncompressed, in base64. Without it, the result only
   * tells which times are accepted.
   */
  body: z.base64().optional(),
});

/** The result of an event. */
export interface ImportResult {
  /** Range of accepted times, ms since epoch, both inclusive. It follows from the tenant's retention. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Number of samples put into the stream. */
  readonly samples: number;
  /**
   * Number of samples left out: of invalid series, outside the accepted times, or beyond the limits of one
   * request.
   */
  readonly refused: number;
  /** The first reasons for leaving out samples. */
  readonly reasons: readonly string[];
}
