import { allowanceOfRequest, type Home } from '../dictionary/home';
import type { SourceRow, SourceRows } from '../dictionary/series-source';
import { dayOf, partitionKeyOf, partitionOf, partitionsOn } from '../model/placement';
import type { Tenant } from '../tenancy/tenants';
import type { OutgoingRecord } from './put';
import { encodeRecords, type RecordFrame, type RecordGroup } from './record';

/**
 * Encodes the rows of a request as records, each for one partition.
 *
 * @param sources the rows of each source. `Pools.assign` must already have found the sources' pools. A source
 *   without a home gets groups of its own
 */
export function rowRecords(tenant: Tenant, sources: Iterable<SourceRows>): OutgoingRecord[] {
  const byPartition = new Map<number, RecordGroup[]>();
  const allowance = allowanceOfRequest();
  for (const [home, rowsOfSources] of rowsByHome(sources)) {
    const sourceIdBytes = Buffer.from(home.id, 'base64url');
    const groups = new Map<string, RecordGroup & { frames: RecordFrame[] }>();
    for (const row of joinRows(rowsOfSources)) {
      const { timestamp } = row;
      const partition = partitionOf(home.id, partitionsOn(tenant.placement, dayOf(timestamp)));
      for (const { splitBits, splitIndex, layout, presence, values } of home.split(row, allowance)) {
        const key = `${partition} ${splitBits} ${layout.id}`;
        let group = groups.get(key);
        if (group === undefined) {
          group = { sourceIdBytes, splitBits, splitIndex, layout, frames: [] };
          groups.set(key, group);
          const earlier = byPartition.get(partition);
          if (earlier === undefined) byPartition.set(partition, [group]);
          else earlier.push(group);
        }
        group.frames.push({ timestamp, presence, values });
      }
    }
  }
  return [...byPartition].flatMap(([partition, groups]) =>
    encodeRecords(tenant.name, partition, groups).map((data) => ({
      partitionKey: partitionKeyOf({ tenantId: tenant.id, partition }),
      data,
    })),
  );
}

/** Gathers the rows of sources that share a home: the sources of one pool, or a single source. */
function rowsByHome(sources: Iterable<SourceRows>): Map<Home, (readonly SourceRow[])[]> {
  const byHome = new Map<Home, (readonly SourceRow[])[]>();
  for (const [source, rows] of sources) {
    const home = source.assignHome();
    const others = byHome.get(home);
    if (others === undefined) byHome.set(home, [rows]);
    else others.push(rows);
  }
  return byHome;
}

/**
 * Joins rows of several sources if their timestamps are equal. Yields one row at a time, because a request may have
 * 32,768 rows.
 */
function* joinRows(rowsOfSources: readonly (readonly SourceRow[])[]): Generator<SourceRow> {
  if (rowsOfSources.length === 1) {
    yield* rowsOfSources[0]!;
    return;
  }
  const byTime = new Map<number, SourceRow[]>();
  for (const rows of rowsOfSources)
    for (const row of rows) {
      const others = byTime.get(row.timestamp);
      if (others === undefined) byTime.set(row.timestamp, [row]);
      else others.push(row);
    }
  for (const [timestamp, rows] of byTime) {
    let count = 0;
    for (const row of rows) count += row.series.length;
    const series = new Int32Array(count);
    const values = new BigUint64Array(count);
    let at = 0;
    // A row has few series, so a loop is faster than making views for `set`.
    for (const row of rows)
      for (let i = 0; i < row.series.length; i++, at++) {
        series[at] = row.series[i]!;
        values[at] = row.values[i]!;
      }
    yield { timestamp, series, values };
  }
}
