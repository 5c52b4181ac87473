import type { SourceCatalogue } from '../catalogue/catalogue';
import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import type { Id } from '../model/id';
import { decodedBytes } from '../model/layout';
import type { GroupId } from '../model/placement';
import { Selections } from './selections';

/** A source's catalogue. */
export interface KnownSource {
  readonly catalogue: SourceCatalogue;
  /** What the catalogue listed before as changed. */
  readonly changes: ReadonlyMap<Id, string>;
  readonly readMs: number;
}

/** How long a source that is not listed as changed counts as known, ms. */
const KNOWN_MS = 300_000;

/** What the catalogue last had of each source, and what was selected of many. */
export class SourceMemo {
  readonly selections = new Selections();
  private readonly cache = new Cache<KnownSource>(CACHES.sources, bytesOf);

  /**
   * The catalogue of a source, if it has all of some layouts and has not changed otherwise.
   *
   * @param changes as the catalogue lists them now
   */
  current(
    sourceId: Id,
    layouts: readonly { readonly group: GroupId; readonly layoutId: Id }[],
    changes: ReadonlyMap<Id, string>,
    nowMs: number,
  ): SourceCatalogue | undefined {
    const known = this.cache.get(sourceId);
    if (known === undefined) return undefined;
    if (nowMs < known.readMs || nowMs - known.readMs > KNOWN_MS) return undefined;
    const { catalogue } = known;
    // Its own, and its pool's.
    const owners = [sourceId, ...catalogue.splits.keys()];
    if (owners.some((id) => known.changes.get(id) !== changes.get(id))) return undefined;
    const hasAll = layouts.every(({ group, layoutId }) =>
      catalogue.layouts.get(group)?.some(({ id }) => id === layoutId),
    );
    return hasAll ? catalogue : undefined;
  }

  /** Keeps the catalogue of a source, which was read after its changes were listed. */
  keep(sourceId: Id, known: KnownSource): void {
    this.cache.set(sourceId, known);
  }
}

function bytesOf({ catalogue: { layouts, deletions } }: KnownSource): number {
  let bytes = 1_000 + 200 * deletions.length;
  for (const known of layouts.values()) for (const layout of known) bytes += decodedBytes(layout);
  return bytes;
}
