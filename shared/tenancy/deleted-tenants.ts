import type { Tenants } from './tenants';

/**
 * Maximum age of the cached names, in ms. It equals the time for which a revoked key may still post, and is far below
 * {@link LAST_WRITE_MS}.
 */
const MAX_AGE_MS = 30_000;

/** Caches the names of deleted tenants for up to 30 s. */
export class DeletedTenants {
  private copy: { readonly names: ReadonlySet<string>; readonly readAtMs: number } | undefined;

  constructor(
    private readonly tenants: Tenants,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * @throws when the copy is too old and the table does not answer; the caller must then neither keep nor
   *   drop samples
   */
  async names(): Promise<ReadonlySet<string>> {
    if (this.copy === undefined || this.now() - this.copy.readAtMs >= MAX_AGE_MS) {
      const readAtMs = this.now();
      const deleted = await this.tenants.listDeleted();
      this.copy = { names: new Set(deleted.map(({ name }) => name)), readAtMs };
    }
    return this.copy.names;
  }
}

/**
 * Time after which no function writes for a deleted tenant any more, in ms. It covers the longest invocation
 * that began with older copies of the tenant's keys and placement.
 */
export const LAST_WRITE_MS = 20 * 60_000;
