/** Memory lost something that has not been read again from the stream yet: a gap is never silent (DESIGN.md, rule 13). */
export class IncompleteReadError extends Error {
  override readonly name = 'IncompleteReadError';

  /** @param sinceMs stream arrival time since when samples may be missing; 0 when that is not known */
  constructor(readonly sinceMs: number) {
    const since = sinceMs === 0 ? '' : ` that arrived since ${new Date(sinceMs).toISOString()}`;
    super(`samples${since} may be missing: memory lost them, and they are being read again from the stream`);
  }
}
