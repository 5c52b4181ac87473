import * as z from 'zod';

/** The event that `ops import` sends. */
export const importEvent = z.object({
  tenant: z.string(),
  /**
   * A `prometheus.WriteRequest` of remote write 1.0, uncompressed, in base64. If it is absent, the importer imports
   * nothing, and only returns the range of times that it accepts.
   */
  body: z.base64().optional(),
});

/** The result of an import. */
export interface ImportResult {
  /** Earliest timestamp that is accepted, as Unix time in ms. It depends on the tenant's retention. */
  readonly fromMs: number;
  /** Latest timestamp that is accepted, as Unix time in ms. */
  readonly toMs: number;
  /** Number of samples that were put into the stream. */
  readonly samples: number;
  /**
   * Number of samples that were left out, because their series is invalid, their time is not accepted, or the
   * request exceeds a bound.
   */
  readonly refused: number;
  /** The first few reasons why samples were left out. */
  readonly reasons: readonly string[];
}
