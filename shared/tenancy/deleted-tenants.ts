import type { Tenants } from './tenants';

/**
 * Maximum age of the cached names, in ms. It equals the time for which a revoked key still works, and is far below
 * {@link LAST_WRITE_MS}.
 */
const MAX_AGE_MS = 30_000;

/** Caches the names of deleted tenants for up to 30 s. */
export class DeletedTenants {
  private copy: { readonly names: ReadonlySet<string>; readonly readAtMs: number } | undefined;

  constructor(private readonly tenants: Tenants) {}

  /**
   * Returns the names of deleted tenants.
   *
   * @throws when the cached copy is too old and the table does not answer; the caller must then neither store
   *   nor drop samples
   */
  async names(): Promise<ReadonlySet<string>> {
    const ageMs = this.copy === undefined ? Infinity : Date.now() - this.copy.readAtMs;
    // If the age is negative, the clock was set back, and the copy may be older than it seems.
    if (this.copy === undefined || ageMs < 0 || ageMs >= MAX_AGE_MS) {
      const readAtMs = Date.now();
      const deleted = await this.tenants.listDeleted();
      this.copy = { names: new Set(deleted.map(({ name }) => name)), readAtMs };
    }
    return this.copy.names;
  }
}

/**
 * Time after a tenant's deletion during which functions may still write for the tenant, in ms. It is longer
 * than the longest invocation: one that began before the deletion may still use cached copies of the tenant's
 * keys and placement.
 */
export const LAST_WRITE_MS = 20 * 60_000;
