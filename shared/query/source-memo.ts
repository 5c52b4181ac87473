import { LRUCache } from 'lru-cache';
import type { SourceCatalogue } from '../catalogue/catalogue';
import type { Id } from '../model/id';
import type { Labels } from '../model/labels';
import { decodedBytes, type Layout, layoutOf } from '../model/layout';
import type { GroupId } from '../model/placement';
import { Selections } from './selections';

/** The series of a source that a read selects. */
export interface SelectedSeries {
  readonly series: readonly Labels[];
  /** Undefined when there are none. */
  readonly layout: Layout | undefined;
}

/** A source's catalogue. */
export interface KnownSource {
  readonly catalogue: SourceCatalogue;
  /** What the catalogue listed before as changed. */
  readonly changes: ReadonlyMap<Id, string>;
  readonly readMs: number;
}

/** How long a source that is not listed as changed counts as known, ms; releases before November 2026 list no changes. */
const KNOWN_MS = 300_000;
/** Bytes, estimated, of what is kept of sources, and of selections. */
const MAX_BYTES = 32_000_000;

/**
 * What the catalogue last had of each source, and what was selected of it. A read begins with that while it asks the
 * catalogue again, and keeps what it began if nothing has changed.
 */
export class SourceMemo {
  private readonly sources = new LRUCache<Id, SourceCatalogue>({
    maxSize: MAX_BYTES,
    sizeCalculation: bytesOf,
  });
  private readonly ofSource = new LRUCache<
    string,
    SelectedSeries & { readonly known: SourceCatalogue; readonly bytes: number }
  >({ maxSize: MAX_BYTES, sizeCalculation: ({ bytes }) => bytes });

  /** What was selected of many sources. */
  readonly selections = new Selections();
  private readonly known = new LRUCache<Id, KnownSource>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ catalogue }) => bytesOf(catalogue),
  });

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
    const known = this.known.get(sourceId);
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
    this.known.set(sourceId, known);
  }

  /** What the catalogue last had of a source. */
  last(sourceId: Id): SourceCatalogue | undefined {
    return this.sources.get(sourceId);
  }

  /** Notes what the catalogue has now. Returns whether it is what it last had, deletions aside. */
  isUnchanged(sourceId: Id, now: SourceCatalogue): boolean {
    const last = this.sources.get(sourceId);
    if (last !== undefined && isSame(last, now)) return true;
    // Too large ones are not kept.
    this.sources.set(sourceId, now);
    return false;
  }

  /**
   * The series of a source that a read selects.
   *
   * @param text of the read's matchers: equal texts select the same series
   * @param select computes them
   */
  select(
    sourceId: Id,
    known: SourceCatalogue,
    text: string,
    select: (known: SourceCatalogue) => readonly Labels[],
  ): SelectedSeries {
    const key = `${sourceId} ${text}`;
    const kept = this.ofSource.get(key);
    if (kept !== undefined && (kept.known === known || isSame(kept.known, known))) return kept;
    const series = select(known);
    const layout = series.length === 0 ? undefined : layoutOf(series);
    const bytes = 2 * key.length + 1_000 + (layout === undefined ? 0 : decodedBytes(layout));
    const selected = { series, layout, known, bytes };
    this.ofSource.set(key, selected);
    return selected;
  }
}

/** Whether reads of both look in the same places for the same series. Layouts are immutable, and named by their content. */
function isSame(a: SourceCatalogue, b: SourceCatalogue): boolean {
  if (a.firstMs !== b.firstMs || String(a.windowLengthsMs) !== String(b.windowLengthsMs)) return false;
  if (a.layouts.size !== b.layouts.size) return false;
  for (const [group, layouts] of a.layouts) {
    const others = b.layouts.get(group);
    if (others === undefined || others.length !== layouts.length) return false;
    for (let i = 0; i < layouts.length; i++) if (layouts[i]!.id !== others[i]!.id) return false;
  }
  return true;
}

function bytesOf({ layouts, deletions }: SourceCatalogue): number {
  let bytes = 1_000 + 200 * deletions.length;
  for (const known of layouts.values()) for (const layout of known) bytes += decodedBytes(layout);
  return bytes;
}
