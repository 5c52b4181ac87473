import type { PoolTable, SourcePlace } from '../catalogue/pool-table';
import { BoundedCache } from '../model/bounded-cache';
import { type Id, idText } from '../model/id';
import { type Labels, labelsKey } from '../model/labels';
import { poolIdBytesOf, sourceIdOf } from '../model/placement';
import type { Columns, SourceRow, SourceRows } from '../protocol/protocol';
import { wholeOf } from './source-unions';

/** Series of one row of a source that may join a pool. */
const MAX_SMALL_SERIES = 4;
/** Sources of a pool. */
const MAX_POOL = 64;
/** New sources of one request that make a pool. */
const MIN_POOL = 8;
/** What grows, or may be deleted by its name, lies in groups of its own. */
const NEVER_POOLED: ReadonlySet<string> = new Set(['host', 'service', 'job', 'instance']);

/** The pool that a source is in. */
export interface PooledSource {
  readonly poolId: Id;
  /** Names the source within the process. */
  readonly ordinal: number;
}

/** The pools of a request's sources; those that are in none are missing. */
export type RequestPools = ReadonlyMap<SourceRows, PooledSource>;

const OWN = 'own';

interface KnownPlace {
  readonly tenantId: Id;
  readonly place: PooledSource | typeof OWN;
}

/**
 * The pools of sources that were posted.
 *
 * A source of one series that has a group to itself pays a version, a layout id and a chunk for each sample. Sources that a
 * gateway posts together share them: up to {@link MAX_POOL} new sources of a request become a pool, in the order of the
 * request. Whichever instance of post writes a source's pool down first decides for all, before it sends the first sample.
 */
export class Pools {
  /** By tenant and source. */
  private readonly places = new BoundedCache<PooledSource | typeof OWN>(
    64_000_000,
    (_, key) => key.length + 100,
  );
  /** The same, by labels, which protocols share among requests: without a text of them for each. */
  private readonly byLabels = new WeakMap<Labels, KnownPlace>();
  private ordinals = 0;

  constructor(private readonly table: Pick<PoolTable, 'find' | 'join'>) {}

  /** Finds the pools of a request's sources, and makes those of new ones. */
  async of(tenantId: Id, sources: readonly SourceRows[]): Promise<RequestPools> {
    const pooled = new Map<SourceRows, PooledSource>();
    const unknown = new Map<Id, { readonly key: string; readonly rows: SourceRows }>();
    for (const rows of sources) {
      const [source] = rows;
      if (!mayBePooled(source)) continue;
      const known = this.byLabels.get(source);
      if (known?.tenantId === tenantId) {
        if (known.place !== OWN) pooled.set(rows, known.place);
        continue;
      }
      const key = sourceKeyOf(tenantId, source);
      const place = this.places.get(key);
      if (place === undefined) {
        unknown.set(sourceIdOf(tenantId, source), { key, rows });
        continue;
      }
      this.byLabels.set(source, { tenantId, place });
      if (place !== OWN) pooled.set(rows, place);
    }
    if (unknown.size === 0) return pooled;
    const found = new Map<Id, SourcePlace>(await this.table.find(tenantId, [...unknown.keys()]));
    const fresh = [...unknown].filter(([id]) => !found.has(id));
    const small = fresh.flatMap(([id, { rows }]) => (rows[1].every(isSmall) ? [id] : []));
    // That a source stays by itself is written down too, before another instance puts it into a pool.
    const placed = new Map([...fresh.map(([id]) => [id, id] as const), ...poolsOf(tenantId, small)]);
    for (const [id, place] of await this.table.join(tenantId, placed)) found.set(id, place);
    for (const [id, { key, rows }] of unknown) {
      const place = found.get(id)!;
      const known = place === OWN ? OWN : { poolId: place, ordinal: this.ordinals++ };
      this.places.set(key, known);
      if (known !== OWN) pooled.set(rows, known);
    }
    return pooled;
  }
}

export function sourceKeyOf(tenantId: Id, source: Labels): string {
  return `${tenantId}${labelsKey(source)}`;
}

function mayBePooled(source: Labels): boolean {
  return source.length > 0 && !source.some(([name]) => NEVER_POOLED.has(name));
}

function isSmall({ values }: SourceRow): boolean {
  return values.length <= MAX_SMALL_SERIES;
}

/** Deals new sources out to pools of nearly the same size. */
function poolsOf(tenantId: Id, sourceIds: readonly Id[]): Map<Id, Id> {
  const pools = new Map<Id, Id>();
  if (sourceIds.length < MIN_POOL) return pools;
  const size = Math.ceil(sourceIds.length / Math.ceil(sourceIds.length / MAX_POOL));
  for (let at = 0; at < sourceIds.length; at += size) {
    const members = sourceIds.slice(at, at + size);
    const poolId = idText(poolIdBytesOf(tenantId, members));
    for (const id of members) pools.set(id, poolId);
  }
  return pools;
}

/** The rows of a pool's sources: of those of one time, one. */
export class PoolRows {
  private readonly byTime = new Map<number, { readonly ordinal: number; readonly row: SourceRow }[]>();

  add({ ordinal }: PooledSource, rows: readonly SourceRow[]): void {
    for (const row of rows) {
      const others = this.byTime.get(row.timestamp);
      if (others === undefined) this.byTime.set(row.timestamp, [{ ordinal, row }]);
      else others.push({ ordinal, row });
    }
  }

  /** One at a time: a request may have 65,536. */
  *rows(): Generator<SourceRow> {
    for (const [timestamp, all] of this.byTime) {
      const columns = joinedColumns(all);
      const only = all.length === 1 ? all[0] : undefined;
      if (only !== undefined) {
        yield { timestamp, columns, values: only.row.values };
        continue;
      }
      const values = new BigUint64Array(all.reduce((sum, { row }) => sum + row.values.length, 0));
      let at = 0;
      for (const { row } of all) {
        values.set(row.values, at);
        at += row.values.length;
      }
      yield { timestamp, columns, values };
    }
  }
}

function joinedColumns(all: readonly { readonly ordinal: number; readonly row: SourceRow }[]): Columns {
  return {
    key: all.map(({ ordinal, row }) => keyOf(ordinal, row)).join(' '),
    series: () => all.flatMap(({ row }) => row.columns.series()),
    parts: all.flatMap(
      ({ ordinal, row }) =>
        row.columns.parts ?? [wholeOf(keyOf(ordinal, row), row.columns, row.values.length)],
    ),
  };
}

function keyOf(ordinal: number, { columns }: SourceRow): string {
  return `p${ordinal} ${columns.key}`;
}
