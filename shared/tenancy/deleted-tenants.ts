import type { Tenants } from './tenants';

/** Maximum age of a copy: as long as a revoked key may still post, and far below {@link LAST_WRITE_MS}. */
const MAX_AGE_MS = 30_000;

/** The names of deleted tenants as of at most 30 s ago, read once in that time at most. */
export class DeletedTenants {
  private copy: { readonly names: ReadonlySet<string>; readonly readAtMs: number } | undefined;

  constructor(
    private readonly tenants: Tenants,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws when the copy is too old and the table does not answer: the caller may then neither keep nor drop samples */
  async names(): Promise<ReadonlySet<string>> {
    if (this.copy === undefined || this.now() - this.copy.readAtMs >= MAX_AGE_MS) {
      const readAtMs = this.now();
      const deleted = await this.tenants.deleted();
      this.copy = { names: new Set(deleted.map(({ name }) => name)), readAtMs };
    }
    return this.copy.names;
  }
}

/**
 * Time after a tenant's deletion from which no function writes for it: the longest invocation that may have begun with
 * older copies of keys and tenants.
 */
export const LAST_WRITE_MS = 20 * 60_000;
