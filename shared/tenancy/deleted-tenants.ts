import type { Tenants } from './tenants';

/** How long a copy may be used: as long as a revoked key may still post, and far below {@link LAST_WRITE_MS}. */
const MAX_AGE_MS = 30_000;

/**
 * The names of the tenants that were deleted, as they were at most 30 s ago: a query once in as long, whatever comes.
 */
export class DeletedTenants {
  private copy: { readonly names: ReadonlySet<string>; readonly readAtMs: number } | undefined;

  constructor(
    private readonly tenants: Tenants,
    private readonly now: () => number = Date.now,
  ) {}

  /** @throws when the names are older than that and the table does not answer: nothing may be kept or dropped then */
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
 * After which no function writes anything of a deleted tenant: the longest life of one that began without knowing,
 * with its copies of keys and tenants.
 */
export const LAST_WRITE_MS = 20 * 60_000;
