import { DAY_MS } from './duration';
import { type Id, idBytes, idOf, idText } from './id';
import { type Labels, labelsKey } from './labels';

/**
 * Where things live. Everything here is derived from content, so that writers and readers agree without
 * asking each other (design.md, rule 11 and section 8).
 */

/** A UTC day, `2026-11-21`. */
export type Day = string;

export function dayOf(timestampMs: number): Day {
  const number = Math.floor(timestampMs / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, day: new Date(timestampMs).toISOString().slice(0, 10) };
  return lastDay.day;
}

/** Asked for sample after sample, and nearly always the same. */
let lastDay: { readonly number: number; readonly day: Day } = { number: 0, day: '1970-01-01' };

export function dayStartMs(day: Day): number {
  return Date.parse(`${day}T00:00:00Z`);
}

/** The days of the half-open range `[fromMs, toMs)`, ascending. */
export function daysIn(fromMs: number, toMs: number): Day[] {
  const days: Day[] = [];
  for (let at = Math.floor(fromMs / DAY_MS) * DAY_MS; at < toMs; at += DAY_MS) days.push(dayOf(at));
  return days;
}

/** The aligned start of the window that holds a timestamp. Windows divide a day, so none spans two. */
export function windowStartMs(timestampMs: number, windowMs: number): number {
  return Math.floor(timestampMs / windowMs) * windowMs;
}

export function tenantIdOf(tenant: string): Id {
  return idOf('tenant', tenant);
}

export function sourceIdBytesOf(tenantId: Id, source: Labels): Buffer {
  return idBytes('source', tenantId, labelsKey(source));
}

export function sourceIdOf(tenantId: Id, source: Labels): Id {
  return idText(sourceIdBytesOf(tenantId, source));
}

/** A source's series are split into groups of about this many at most. */
export const MAX_GROUP_SERIES = 256;
/** And of about this many bytes of names and labels: more than Mackerel's names can have. */
export const MAX_GROUP_LABEL_BYTES = 128 * 1024;

/**
 * Into how many groups a post of `seriesCount` series of one source is split: the smallest power of two that
 * keeps groups at {@link MAX_GROUP_SERIES} and {@link MAX_GROUP_LABEL_BYTES} on average. It depends on the post alone;
 * the catalogue remembers which splits a source has had, and readers look in each.
 *
 * @param labelBytes of all the series' names and labels
 * @returns the exponent, 0 to 15
 */
export function splitBitsFor(seriesCount: number, labelBytes = 0): number {
  const groups = Math.max(seriesCount / MAX_GROUP_SERIES, labelBytes / MAX_GROUP_LABEL_BYTES);
  let bits = 0;
  while (bits < 15 && groups > 2 ** bits) bits++;
  return bits;
}

/** Which of the `2 ** splitBits` groups of its source a series belongs to, by its {@link labelsKey}. */
export function splitIndexOf(seriesKey: string, splitBits: number): number {
  if (splitBits === 0) return 0;
  return idBytes('series', seriesKey).readUInt32BE(0) >>> (32 - splitBits);
}

/** The unit of placement in every tier: a source's id, then the split. Always 27 characters. */
export type GroupId = string;

export const GROUP_ID_LENGTH = 27;

export function groupIdOf(sourceId: Id, splitBits: number, splitIndex: number): GroupId {
  return `${sourceId}${splitBits.toString(16)}${splitIndex.toString(16).padStart(4, '0')}`;
}

export function sourceIdOfGroup(group: GroupId): Id {
  return group.slice(0, 22);
}

export function splitBitsOfGroup(group: GroupId): number {
  return Number.parseInt(group[22]!, 16);
}

/** From which UTC day on a tenant has how many partitions. */
export interface PlacementEpoch {
  readonly fromDay: Day;
  readonly partitions: number;
}

/** A tenant's small, versioned document of where its data lives. */
export interface Placement {
  /** Ascending by day; the first is from `1970-01-01`. */
  readonly epochs: readonly PlacementEpoch[];
}

/** How many partitions there are on a day. */
export function partitionsOn(placement: Placement, day: Day): number {
  return (
    placement.epochs.findLast((epoch) => epoch.fromDay <= day)?.partitions ?? placement.epochs[0]!.partitions
  );
}

/** The most partitions that any day has. */
export function maxPartitions(placement: Placement): number {
  return Math.max(...placement.epochs.map((epoch) => epoch.partitions));
}

/** Most partitions a tenant may have. */
export const MAX_PARTITIONS = 4096;

/** Partitions are equal ranges of the source id, so that the groups of a source lie together. */
export function partitionOf(sourceId: Id, partitions: number): number {
  const head = Buffer.from(sourceId.slice(0, 8), 'base64url').readUInt32BE(0);
  return Math.floor((head * partitions) / 2 ** 32);
}

/** A tenant's partition, by which it is known to Redis, DynamoDB, S3 and Kinesis. */
export interface PartitionRef {
  readonly tenantId: Id;
  readonly partition: number;
}

export function partitionText(partition: number): string {
  return partition.toString().padStart(4, '0');
}
