import type { PoolTable, SourcePlace } from '../catalogue/pool-table';
import { CompactMap } from '../model/compact-map';
import { type Id, idText } from '../model/id';
import type { Labels } from '../model/labels';
import { poolIdBytesOf, sourceIdOf } from '../model/placement';
import {
  type Columns,
  type ColumnsKey,
  labelsOfSource,
  type SourceRow,
  type SourceRows,
} from '../protocol/protocol';
import { knownPlace, OwnPlace, PooledSource } from './source-place';
import { wholeOf } from './source-unions';

/** Series of one row of a source that may join a pool. */
const MAX_SMALL_SERIES = 4;
/** Sources of a pool. */
const MAX_POOL = 64;
/** New sources of one request that make a pool. */
const MIN_POOL = 8;
/** What grows, or may be deleted by its name, lies in groups of its own. */
const NEVER_POOLED: ReadonlySet<string> = new Set(['host', 'service', 'job', 'instance']);

/** The pools of a request's sources; those that are in none are missing. */
export type RequestPools = ReadonlyMap<SourceRows, PooledSource>;

const OWN = 'own';

/** Sources whose places are remembered although their protocol forgot them, 32 bytes each; and their pools. */
const MAX_PLACES = 1_000_000;
const MAX_POOLS = 200_000;
/** A source's place as a number: its pool's times this, and the source's ordinal. Pool 0: it stays by itself. */
const ORDINALS = 2 ** 32;

/**
 * The pools of sources that were posted.
 *
 * A source of one series that has a group to itself pays a version, a layout id and a chunk for each sample. Sources that a
 * gateway posts together share them: up to {@link MAX_POOL} new sources of a request become a pool, in the order of the
 * request. Whichever instance of post writes a source's pool down first decides for all, before it sends the first sample.
 */
export class Pools {
  /** By source. */
  private places = new CompactMap(MAX_PLACES);
  /** Pools by their numbers in {@link places}, and back. */
  private ids: Id[] = [OWN];
  private numbers = new Map<Id, number>();
  private ordinals = 0;

  /** @param makesPools false: each new source stays by itself, and those that are in a pool stay there */
  constructor(
    private readonly table: Pick<PoolTable, 'find' | 'join'>,
    private readonly makesPools = true,
  ) {}

  /** Finds the pools of a request's sources, and makes those of new ones. */
  async of(tenantId: Id, sources: readonly SourceRows[]): Promise<RequestPools> {
    const pooled = new Map<SourceRows, PooledSource>();
    const unknown = new Map<Id, SourceRows>();
    for (const rows of sources) {
      const [source] = rows;
      let place = knownPlace(tenantId, source);
      if (place === undefined) {
        const labels = labelsOfSource(source);
        if (!mayBePooled(labels)) continue;
        const id = sourceIdOf(tenantId, labels);
        place = this.placeOf(tenantId, id);
        if (place === undefined) {
          unknown.set(id, rows);
          continue;
        }
        if ('place' in source) source.place = place;
      }
      if (place instanceof PooledSource) pooled.set(rows, place);
    }
    if (unknown.size === 0) return pooled;
    const found = new Map<Id, SourcePlace>(await this.table.find(tenantId, [...unknown.keys()]));
    const fresh = [...unknown].filter(([id]) => !found.has(id));
    const small = fresh.flatMap(([id, [, rows]]) => (this.makesPools && rows.every(isSmall) ? [id] : []));
    // That a source stays by itself is written down too, before another instance puts it into a pool.
    const placed = new Map([...fresh.map(([id]) => [id, id] as const), ...poolsOf(tenantId, small)]);
    if (placed.size > 0)
      for (const [id, place] of await this.table.join(tenantId, placed)) found.set(id, place);
    for (const [id, rows] of unknown) {
      this.remember(id, found.get(id)!);
      const place = this.placeOf(tenantId, id)!;
      const [source] = rows;
      if ('place' in source) source.place = place;
      if (place instanceof PooledSource) pooled.set(rows, place);
    }
    return pooled;
  }

  private remember(sourceId: Id, place: SourcePlace): void {
    if (this.ids.length === MAX_POOLS) {
      this.places = new CompactMap(MAX_PLACES);
      this.ids = [OWN];
      this.numbers.clear();
    }
    let number = place === OWN ? 0 : this.numbers.get(place);
    if (number === undefined) {
      number = this.ids.push(place) - 1;
      this.numbers.set(place, number);
    }
    this.places.set(sourceId, number * ORDINALS + this.ordinals++);
  }

  private placeOf(tenantId: Id, sourceId: Id): OwnPlace | PooledSource | undefined {
    const known = this.places.get(sourceId);
    if (known === undefined) return undefined;
    const number = Math.floor(known / ORDINALS);
    if (number === 0) return new OwnPlace(tenantId, sourceId);
    return new PooledSource(tenantId, this.ids[number]!, known % ORDINALS);
  }
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
  private readonly byTime = new Map<number, PooledRow[]>();

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
      let count = 0;
      for (const { row } of all) count += row.values.length;
      const values = new BigUint64Array(count);
      let at = 0;
      // Few each: a loop costs less than to copy by views.
      for (const { row } of all) {
        const own = row.values;
        for (let i = 0; i < own.length; i++) values[at++] = own[i]!;
      }
      yield { timestamp, columns, values };
    }
  }
}

function joinedColumns(all: readonly PooledRow[]): Columns {
  let key = '';
  for (const each of all) key += `${keyOf(each)} `;
  return {
    key: `pooled ${key}`,
    series: () => all.flatMap(({ row }) => row.columns.series()),
    get parts() {
      return all.flatMap(
        (each) => each.row.columns.parts ?? [wholeOf(keyOf(each), each.row.columns, each.row.values.length)],
      );
    },
  };
}

function keyOf({ ordinal, row }: PooledRow): ColumnsKey {
  return `pooled ${ordinal} ${row.columns.key}`;
}

interface PooledRow {
  readonly ordinal: number;
  readonly row: SourceRow;
}
