import { LRUCache } from 'lru-cache';
import { type Id, idText } from '../id';
import { type Labels, labelValue, METRIC_NAME, metricOf } from '../labels';
import { layoutOf } from '../layout';
import type { Tenant } from '../meta/tenants';
import {
  dayOf,
  type PartitionRef,
  partitionOf,
  partitionsOn,
  sourceIdBytesOf,
  splitBitsFor,
  splitIndexOf,
} from '../placement';
import { encodeRecords, type RecordFrame, type RecordGroup } from '../record';
import type { SourcePoints } from './points';

/** A record for the stream, and the partition key that keeps a partition's records in one order. */
export interface OutgoingRecord {
  readonly partitionKey: string;
  readonly data: Buffer;
}

/** The part of a source that goes into one group, and the names of its series in the order of its layout. */
interface GroupLayout {
  readonly splitIndex: number;
  readonly id: Id;
  /** Bytes of the layout; all of it, decoded, would take ten times as much in memory. */
  readonly bytes: Uint8Array;
  /** Metric names in the layout's order. */
  readonly names: readonly string[];
}

/** Layouts made before: agents send the same names minute after minute. By source and names. */
const layouts = new LRUCache<string, readonly GroupLayout[]>({
  max: 20_000,
  maxSize: 64_000_000,
  sizeCalculation: (groups, key) =>
    groups.reduce((sum, { bytes, names }) => sum + bytes.length + 64 * names.length, 2 * key.length),
});

/** Encodes a request's samples as records, split by partition and group. */
export function recordsOf(
  tenant: Tenant,
  sources: Iterable<readonly [Labels, SourcePoints]>,
): OutgoingRecord[] {
  const byPartition = new Map<number, RecordGroup[]>();
  for (const [source, points] of sources) {
    const sourceIdBytes = sourceIdBytesOf(tenant.id, source);
    const sourceId = idText(sourceIdBytes);
    const splitBits = splitBitsFor(mostNames(points));
    const groups = new Map<string, RecordGroup & { frames: RecordFrame[] }>();
    for (const [timestamp, values] of points) {
      const partition = partitionOf(sourceId, partitionsOn(tenant.placement, dayOf(timestamp)));
      for (const { splitIndex, id, bytes, names } of groupLayouts(
        source,
        sourceId,
        [...values.keys()],
        splitBits,
      )) {
        const key = `${partition} ${id}`;
        let group = groups.get(key);
        if (group === undefined) {
          group = { sourceId: sourceIdBytes, splitBits, splitIndex, layout: bytes, frames: [] };
          groups.set(key, group);
          const others = byPartition.get(partition);
          if (others === undefined) byPartition.set(partition, [group]);
          else others.push(group);
        }
        group.frames.push({ timestamp, values: valuesOf(names, values) });
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

/** The Kinesis partition key: one sequencer for all of a partition (design.md, section 2). */
export function partitionKeyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}

function mostNames(points: SourcePoints): number {
  let most = 0;
  for (const { size } of points.values()) most = Math.max(most, size);
  return most;
}

function groupLayouts(
  source: Labels,
  sourceId: string,
  names: string[],
  splitBits: number,
): readonly GroupLayout[] {
  const key = `${sourceId}${splitBits} ${names.join(' ')}`;
  const known = layouts.get(key);
  if (known !== undefined) return known;
  const bySplit = new Map<number, Labels[]>();
  for (const name of names) {
    const series = metricOf(source, name);
    const split = splitIndexOf(series, splitBits);
    const others = bySplit.get(split);
    if (others === undefined) bySplit.set(split, [series]);
    else others.push(series);
  }
  const made = [...bySplit].map(([splitIndex, series]) => {
    const { id, bytes, series: ordered } = layoutOf(series);
    return { splitIndex, id, bytes, names: ordered.map((labels) => labelValue(labels, METRIC_NAME)!) };
  });
  layouts.set(key, made);
  return made;
}

function valuesOf(names: readonly string[], values: ReadonlyMap<string, number>): Uint8Array {
  const bytes = Buffer.allocUnsafe(names.length * 8);
  for (let i = 0; i < names.length; i++) bytes.writeDoubleLE(values.get(names[i]!)!, i * 8);
  return bytes;
}
