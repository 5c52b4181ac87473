import type { PoolTable } from '../catalogue/pool-table';
import type { SourceRow, SourceRows } from '../dictionary/series-source';
import { type Id, idOf } from '../model/id';
import type { Labels } from '../model/labels';
import { sourceIdOf } from '../model/placement';

/** Maximum number of series in each row of a source that joins a pool. */
const MAX_SMALL_SERIES = 4;
/** Maximum number of sources in a pool. */
const MAX_POOL = 64;
/** Minimum number of new sources in a request for which post makes a pool. */
const MIN_POOL = 8;
/** Sources with one of these labels never join a pool: they may get more series, or be deleted by name. */
const NEVER_POOLED: ReadonlySet<string> = new Set(['host', 'service', 'job', 'instance']);

/**
 * Finds the pools of sources, and makes pools of new sources. A pool is a set of small sources whose samples are stored
 * in the same groups. The pool's id takes the place of a source's id in group ids, in records and in placement.
 *
 * A source that has only one series, in a group of its own, would need a version and a layout id for each sample, and a
 * chunk for each window. The sources of a pool share these costs. Up to {@link MAX_POOL} new sources of a request
 * become a pool, in the order of the request. Several instances of post may choose different pools for one source at
 * the same time. The choice that is written first binds all instances, and no instance sends a sample before the choice
 * is written.
 */
export class Pools {
  constructor(private readonly table: Pick<PoolTable, 'find' | 'join'>) {}

  /**
   * Sets the homes of the sources in a request, except for sources that can never be in a pool. A source's
   * home is the set of groups that hold its series (dictionary/home.ts). Puts new small sources into new
   * pools.
   */
  async assign(sources: readonly SourceRows[]): Promise<void> {
    const unknown = new Map<Id, SourceRows>();
    for (const rows of sources) {
      const [source] = rows;
      if (source.home !== undefined) continue;
      const { labels } = source;
      if (!mayBePooled(labels)) continue;
      unknown.set(sourceIdOf(source.dictionary.tenantId, labels), rows);
    }
    const [first] = unknown.values();
    if (first === undefined) return;
    const { tenantId } = first[0].dictionary;
    const found = new Map(await this.table.find(tenantId, [...unknown.keys()]));
    const fresh = [...unknown].filter(([id]) => !found.has(id));
    const small = fresh.flatMap(([id, [, rows]]) => (rows.every(isSmall) ? [id] : []));
    // Also store that a source is in no pool. Otherwise another instance of post might later put it into one.
    const placed = new Map([...fresh.map(([id]) => [id, id] as const), ...poolsOf(tenantId, small)]);
    if (placed.size > 0)
      for (const [id, pool] of await this.table.join(tenantId, placed)) found.set(id, pool);
    for (const [id, [source]] of unknown) source.assignHome(found.get(id)!);
  }
}

/** Whether a source may be in a pool, judging by its labels. */
function mayBePooled(source: Labels): boolean {
  return source.length > 0 && !source.some(([name]) => NEVER_POOLED.has(name));
}

function isSmall({ values }: SourceRow): boolean {
  return values.length <= MAX_SMALL_SERIES;
}

/** Divides new sources into pools of nearly the same size. Returns the id of each source's pool, by source id. */
function poolsOf(tenantId: Id, sourceIds: readonly Id[]): Map<Id, Id> {
  const pools = new Map<Id, Id>();
  if (sourceIds.length < MIN_POOL) return pools;
  const size = Math.ceil(sourceIds.length / Math.ceil(sourceIds.length / MAX_POOL));
  for (let at = 0; at < sourceIds.length; at += size) {
    const members = sourceIds.slice(at, at + size);
    const poolId = idOf('pool', tenantId, ...members);
    for (const id of members) pools.set(id, poolId);
  }
  return pools;
}
