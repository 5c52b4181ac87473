import { DAY_MS } from './duration';
import { type Id, idBytes, idHead, idOf, idText } from './id';
import { type Labels, labelsKey } from './labels';

/**
 * Placement: the window, group, partition and day of a sample. All are derived from the sample's content, so
 * that writers and readers agree without communicating (DESIGN.md, rule 11).
 */

/** A UTC day, `2026-11-21`. */
export type Day = string;

export function dayOf(timestampMs: number): Day {
  const number = Math.floor(timestampMs / DAY_MS);
  if (number !== lastNumber) {
    lastDay = knownDays.get(number) ?? newDay(number);
    lastNumber = number;
  }
  return lastDay;
}

/** Caches one day, since consecutive samples nearly always have the same one. */
let lastNumber = 0;
let lastDay: Day = '1970-01-01';

/** Cached days by number since 1970, and start times by day. Reads of long ranges need hundreds of them. */
const knownDays = new Map<number, Day>();
const knownStarts = new Map<Day, number>();
const MAX_KNOWN_DAYS = 10_000;

function newDay(number: number): Day {
  const day = new Date(number * DAY_MS).toISOString().slice(0, 10);
  if (knownDays.size >= MAX_KNOWN_DAYS) knownDays.clear();
  knownDays.set(number, day);
  return day;
}

export function dayStartMs(day: Day): number {
  const known = knownStarts.get(day);
  if (known !== undefined) return known;
  const startMs = Date.parse(`${day}T00:00:00Z`);
  if (knownStarts.size >= MAX_KNOWN_DAYS) knownStarts.clear();
  knownStarts.set(day, startMs);
  return startMs;
}

/** Lists the days of the half-open range `[fromMs, toMs)`, ascending. */
export function daysIn(fromMs: number, toMs: number): Day[] {
  const days: Day[] = [];
  for (let at = Math.floor(fromMs / DAY_MS) * DAY_MS; at < toMs; at += DAY_MS) days.push(dayOf(at));
  return days;
}

/**
 * Returns the start of the window that contains a timestamp. Windows are aligned and divide a day, so none
 * spans two days.
 */
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

/**
 * Derives the id of a pool: a set of small sources that were posted together, and whose samples lie in the
 * pool's groups instead of their own. A pool's id takes the place of a source's id in group ids, in records
 * and in placement. A source is permanently in one pool or none (catalogue/pool-table.ts).
 *
 * @param sourceIds the sources for which the pool is made
 */
export function poolIdBytesOf(tenantId: Id, sourceIds: readonly Id[]): Buffer {
  return idBytes('pool', tenantId, ...sourceIds);
}

/** Approximate maximum of series in a group. A larger source is split. */
export const MAX_GROUP_SERIES = 256;
/** Approximate maximum of bytes of names and labels in a group. 256 Mackerel metrics have fewer. */
export const MAX_GROUP_LABEL_BYTES = 128 * 1024;

/**
 * Decides into how many groups a row is split: the smallest power of two that keeps groups within {@link
 * MAX_GROUP_SERIES} and {@link MAX_GROUP_LABEL_BYTES} on average. It depends only on the row. The catalogue
 * remembers the splits of a source, and readers look in all of them.
 *
 * @param labelBytes bytes of all names and labels
 * @returns the exponent of two, 0 to 15
 */
export function splitBitsFor(seriesCount: number, labelBytes = 0): number {
  const groups = Math.max(seriesCount / MAX_GROUP_SERIES, labelBytes / MAX_GROUP_LABEL_BYTES);
  let bits = 0;
  while (bits < 15 && groups > 2 ** bits) bits++;
  return bits;
}

/**
 * Returns the index of a series' group among the `2 ** splitBits` groups of its source. @param seriesKey its
 * {@link labelsKey}
 */
export function splitIndexOf(seriesKey: string, splitBits: number): number {
  if (splitBits === 0) return 0;
  return idHead('series', seriesKey) >>> (32 - splitBits);
}

/** The unit of placement in every tier: a source's or pool's id, then the split. Always 27 characters. */
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

/** How far in the future a sample's timestamp may be, in every protocol, ms. Mackerel documents 24 hours. */
export const MAX_AHEAD_MS = DAY_MS;

/** Largest assumed difference between the clocks of writers, operators and the stream, ms. */
const MAX_CLOCK_GAP_MS = 3_600_000;

/**
 * How long before its first day an epoch is published, ms, so that every writer knows the epoch in time.
 * Samples are at most {@link MAX_AHEAD_MS} ahead of a writer's clock. Three hours are added: one for clock
 * differences that affect samples, one for those that affect deletions ({@link endOfKnownEpochs}), and one
 * because a request may use a copy of the placement that is a minute old.
 */
export const EPOCH_LEAD_MS = MAX_AHEAD_MS + 3 * MAX_CLOCK_GAP_MS;

/**
 * Returns a midnight that is later than every sample posted before `arrivalMs`. If a record arrived at
 * `arrivalMs`, any epoch that its request did not know of begins at this midnight or later: see {@link
 * EPOCH_LEAD_MS}.
 *
 * @param arrivalMs by the stream's clock
 */
export function endOfKnownEpochs(arrivalMs: number): number {
  return Math.ceil((arrivalMs + MAX_AHEAD_MS + MAX_CLOCK_GAP_MS) / DAY_MS) * DAY_MS;
}

/** A tenant's number of partitions, from a UTC day on. */
export interface PlacementEpoch {
  readonly fromDay: Day;
  readonly partitions: number;
}

/** A tenant's partition map. */
export interface Placement {
  /** Ascending by day. The first begins on `1970-01-01`. */
  readonly epochs: readonly PlacementEpoch[];
}

/** Returns the number of partitions on a day. */
export function partitionsOn(placement: Placement, day: Day): number {
  const { epochs } = placement;
  // A loop without a closure, because a read of a long range calls this for each day.
  let i = epochs.length - 1;
  while (i > 0 && epochs[i]!.fromDay > day) i--;
  return epochs[i]!.partitions;
}

/** Returns the highest number of partitions on any day. */
export function maxPartitions(placement: Placement): number {
  return Math.max(...placement.epochs.map((epoch) => epoch.partitions));
}

/** Most partitions that a tenant may have. */
export const MAX_PARTITIONS = 4096;

/**
 * Returns a source's partition. Partitions are equal ranges of source ids, so the groups of a source are in
 * the same partition.
 */
export function partitionOf(sourceId: Id, partitions: number): number {
  if (sourceId !== lastHead.sourceId)
    lastHead = { sourceId, head: Buffer.from(sourceId.slice(0, 8), 'base64url').readUInt32BE(0) };
  return Math.floor((lastHead.head * partitions) / 2 ** 32);
}

/** The last source that {@link partitionOf} was called for: a read calls it for each of its days. */
let lastHead: { readonly sourceId: Id; readonly head: number } = { sourceId: '', head: 0 };

/** A tenant's partition. Keys in Redis, DynamoDB, S3 and Kinesis are made from it. */
export interface PartitionRef {
  readonly tenantId: Id;
  readonly partition: number;
}

export function partitionText(partition: number): string {
  return partition.toString().padStart(4, '0');
}
