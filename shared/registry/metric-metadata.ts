import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { type Id, idOf } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { Table } from '../platform/table';
import { Documents } from './documents';

/**
 * A sender's description of a metric. It is shown to users and used for completion, but has no effect on
 * queries.
 */
export interface MetricDescription {
  /** The metric's name without the suffixes of a histogram or summary. */
  readonly family: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** Maximum number of families stored for a tenant. Further families are ignored. */
const MAX_FAMILIES = 20_000;
/** Maximum length of a stored help text, in characters. */
const MAX_HELP = 1_000;
/** Maximum length of a family, and of a stored unit, in characters. */
const MAX_NAME = 500;
/** Maximum number of families written for one request. Senders resend metadata, so later requests write the rest. */
const MAX_WRITES = 100;
const PARALLEL = 16;
/**
 * Maximum age of the cached families that a write may rely on, in ms. It is long because senders resend their metadata.
 */
const WRITER_MS = 3_600_000;
/** Maximum age of the cached families that a list may show, in ms. */
const READER_MS = 60_000;
/** Approximate memory of a cached family, in bytes. */
const FAMILY_BYTES = 500;

/**
 * Cached metadata of a tenant's families: what this instance read at `readMs`, plus what it has written
 * since.
 */
interface Copy {
  readonly families: Map<string, MetricDescription>;
  readonly readMs: number;
}

/** Stores metadata of a tenant's metrics, by a hash of their family. The last write wins. */
export class MetricMetadataStore {
  private readonly documents: Documents<MetricDescription>;
  private readonly copies = new Cache<Copy>(
    CACHES.metricMetadata,
    ({ families }) => FAMILY_BYTES * (families.size + 1),
  );

  constructor(table: Table) {
    this.documents = new Documents(table, 'metric-metadata');
  }

  /**
   * Stores new and changed metadata, at most {@link MAX_WRITES} families. Never fails, because storing
   * samples matters more and senders resend their metadata.
   */
  async offer(tenantId: Id, metadata: readonly MetricDescription[]): Promise<void> {
    try {
      await this.put(tenantId, metadata);
    } catch (error) {
      log.warn('metric metadata was not stored', { error });
    }
  }

  private async put(tenantId: Id, metadata: readonly MetricDescription[]): Promise<void> {
    if (metadata.length === 0) return;
    const copy = await this.copyOf(tenantId, WRITER_MS);
    const known = copy.families;
    const changed: MetricDescription[] = [];
    let families = known.size;
    for (const each of metadata) {
      const kept = cutTexts(each);
      const stored = known.get(kept.family);
      if (kept.family === '' || (stored !== undefined && isSame(stored, kept))) continue;
      if (stored === undefined && families >= MAX_FAMILIES) continue;
      if (stored === undefined) families++;
      changed.push(kept);
      if (changed.length === MAX_WRITES) break;
    }
    await mapLimited(changed, PARALLEL, async (each) => {
      await this.documents.createOrChange(tenantId, keyOf(each.family), () => each);
      known.set(each.family, each);
    });
    // Set the copy again, so that the cache updates the copy's size.
    this.copies.set(tenantId, copy);
  }

  /** Returns the metadata of all families, sorted by family. It is at most a minute old. */
  async list(tenantId: Id): Promise<readonly MetricDescription[]> {
    const { families } = await this.copyOf(tenantId, READER_MS);
    return [...families.values()].sort((a, b) => (a.family < b.family ? -1 : 1));
  }

  /** Returns a family's metadata; undefined when no sender has described the family. */
  of(tenantId: Id, family: string): Promise<MetricDescription | undefined> {
    return this.documents.get(tenantId, keyOf(family));
  }

  private async copyOf(tenantId: Id, maxAgeMs: number): Promise<Copy> {
    const known = this.copies.get(tenantId);
    const readMs = performance.now();
    if (known !== undefined && readMs - known.readMs < maxAgeMs) return known;
    const all = await this.documents.all(tenantId);
    const copy = { families: new Map(all.map((each) => [each.family, each])), readMs };
    this.copies.set(tenantId, copy);
    return copy;
  }
}

function keyOf(family: string): Id {
  return idOf('metricMetadata', family);
}

function cutTexts({ family, type, help, unit }: MetricDescription): MetricDescription {
  return {
    family: family.length > MAX_NAME ? '' : family,
    type,
    help: help.slice(0, MAX_HELP).toWellFormed(),
    unit: unit.slice(0, MAX_NAME).toWellFormed(),
  };
}

function isSame(a: MetricDescription, b: MetricDescription): boolean {
  return a.type === b.type && a.help === b.help && a.unit === b.unit;
}
