import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { type Id, idOf } from '../model/id';
import { mapLimited } from '../platform/concurrency';
import { log } from '../platform/log';
import type { Table } from '../platform/table';
import { Documents } from './documents';

/** A metric as its sender describes it: for people and completion, never for evaluation. */
export interface MetricDescription {
  /** The metric's family: its name, without the suffixes of a histogram or summary. */
  readonly family: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** Families kept of a tenant; later ones are ignored. */
export const MAX_FAMILIES = 20_000;
/** Characters kept of a help text, and of a family and a unit. */
const MAX_HELP = 1_000;
const MAX_NAME = 500;
/** Families written for one request: senders repeat theirs, so the rest is written with later requests. */
const MAX_WRITES = 100;
const PARALLEL = 16;
/** How long an instance goes by what it read. */
const KNOWN_MS = 3_600_000;
/** How long a reader goes by a list: editors ask for all families whenever they open. */
const LISTED_MS = 60_000;
/** Approximate memory of a family in a copy. */
const FAMILY_BYTES = 500;

/** The metadata of a tenant's metrics, by the hash of their family. The last writer wins. */
export class MetricMetadataStore {
  private readonly documents: Documents<MetricDescription>;
  /** By tenant: each family and what is stored of it. */
  private readonly cache = new Cache<Map<string, string>>(
    CACHES.metricMetadata,
    ({ size }) => FAMILY_BYTES * (size + 1),
    { ttlMs: KNOWN_MS },
  );
  private readonly listed = new Cache<readonly MetricDescription[]>(
    CACHES.metricMetadata,
    ({ length }) => FAMILY_BYTES * (length + 1),
    { ttlMs: LISTED_MS },
  );

  constructor(table: Table) {
    this.documents = new Documents(table, 'metric-metadata');
  }

  /**
   * Stores what is new or changed, at most {@link MAX_WRITES} families. Never fails: samples come first, and senders repeat
   * their metadata.
   */
  async offer(tenantId: Id, metadata: readonly MetricDescription[]): Promise<void> {
    try {
      await this.put(tenantId, metadata);
    } catch (error) {
      log.warn('metadata was not stored', { error: error as Error });
    }
  }

  private async put(tenantId: Id, metadata: readonly MetricDescription[]): Promise<void> {
    if (metadata.length === 0) return;
    const known = this.cache.get(tenantId) ?? (await this.read(tenantId));
    const changed: MetricDescription[] = [];
    let families = known.size;
    for (const each of metadata) {
      const kept = bounded(each);
      const stored = known.get(kept.family);
      if (kept.family === '' || stored === textOf(kept)) continue;
      if (stored === undefined && families >= MAX_FAMILIES) continue;
      if (stored === undefined) families++;
      changed.push(kept);
      if (changed.length === MAX_WRITES) break;
    }
    await mapLimited(changed, PARALLEL, async (each) => {
      await this.documents.settle(tenantId, keyOf(each.family), () => each);
      known.set(each.family, textOf(each));
    });
    this.cache.set(tenantId, known);
  }

  /** Lists every family's metadata, sorted by family, up to a minute old. */
  async list(tenantId: Id): Promise<readonly MetricDescription[]> {
    const copy = this.listed.get(tenantId);
    if (copy !== undefined) return copy;
    const metadata: MetricDescription[] = [];
    for await (const { value } of this.documents.list(tenantId)) metadata.push(value);
    metadata.sort((a, b) => (a.family < b.family ? -1 : 1));
    this.listed.set(tenantId, metadata);
    return metadata;
  }

  /** Returns a family's metadata, undefined when no sender has described it. */
  of(tenantId: Id, family: string): Promise<MetricDescription | undefined> {
    return this.documents.get(tenantId, keyOf(family));
  }

  private async read(tenantId: Id): Promise<Map<string, string>> {
    const known = new Map<string, string>();
    for await (const { value } of this.documents.list(tenantId)) known.set(value.family, textOf(value));
    return known;
  }
}

function keyOf(family: string): Id {
  return idOf('metricMetadata', family);
}

function bounded({ family, type, help, unit }: MetricDescription): MetricDescription {
  return {
    family: family.length > MAX_NAME ? '' : family,
    type,
    help: help.slice(0, MAX_HELP).toWellFormed(),
    unit: unit.slice(0, MAX_NAME).toWellFormed(),
  };
}

function textOf({ type, help, unit }: MetricDescription): string {
  return JSON.stringify([type, help, unit]);
}
