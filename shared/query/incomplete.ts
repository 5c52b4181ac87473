/**
 * A read failed because samples of its range are missing: memory has lost them, or they are in a dead letter.
 * A response without these samples would have a silent gap (DESIGN.md, rule 13).
 */
export class IncompleteReadError extends Error {
  override readonly name = 'IncompleteReadError';

  /**
   * @param sinceMs samples that arrived in the stream at this time or later may be missing; 0 when unknown
   */
  constructor(readonly sinceMs: number) {
    const since = sinceMs === 0 ? '' : ` that arrived since ${new Date(sinceMs).toISOString()}`;
    super(
      `samples${since} may be missing: memory lost them or a store refused them, and they are being ingested again`,
    );
  }
}
