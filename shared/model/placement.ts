import { DAY_MS } from './duration';
import { type Id, idBytes, idHead, idOf, idText } from './id';
import { type Labels, labelsKey } from './labels';

/**
 * Placement: the window, group, partition and day of a sample. All are derived from content, so that writers and readers
 * agree without asking each other (DESIGN.md, rule 11).
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

/** A cache of one day: samples are nearly always of the same. */
let lastNumber = 0;
let lastDay: Day = '1970-01-01';

/** Texts of days by their numbers since 1970, and back: reads of long ranges need hundreds of them. */
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

/** The days of the half-open range `[fromMs, toMs)`, ascending. */
export function daysIn(fromMs: number, toMs: number): Day[] {
  const days: Day[] = [];
  for (let at = Math.floor(fromMs / DAY_MS) * DAY_MS; at < toMs; at += DAY_MS) days.push(dayOf(at));
  return days;
}

/** The start of the window that holds a timestamp. Windows are aligned and divide a day, so none spans two. */
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
 * The id of a pool: small sources that were posted together, whose samples lie in groups of the pool instead of their own. It
 * stands where a source's id does: in the ids of its groups, in records, in what places them. A source is in one pool, or none,
 * for ever (catalogue/pool-table.ts).
 *
 * @param sourceIds of those that it was made for
 */
export function poolIdBytesOf(tenantId: Id, sourceIds: readonly Id[]): Buffer {
  return idBytes('pool', tenantId, ...sourceIds);
}

/** Series of a group, about, at most: a larger source is split. */
export const MAX_GROUP_SERIES = 256;
/** Bytes of names and labels of a group, about, at most: more than 256 of Mackerel's names have. */
export const MAX_GROUP_LABEL_BYTES = 128 * 1024;

/**
 * The split of a row of `seriesCount` series: the smallest power of two of groups that keeps them within
 * {@link MAX_GROUP_SERIES} and {@link MAX_GROUP_LABEL_BYTES} on average. It depends on the row alone; the catalogue
 * remembers the splits of a source, and readers look in each.
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

/** The group of a series among the `2 ** splitBits` of its source, by its {@link labelsKey}. */
export function splitIndexOf(seriesKey: string, splitBits: number): number {
  if (splitBits === 0) return 0;
  return idHead('series', seriesKey) >>> (32 - splitBits);
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

/** How far ahead of the clock a sample's time may be, in every protocol, ms. Mackerel documents 24 hours. */
export const MAX_AHEAD_MS = DAY_MS;

/** The clocks of writers, of operators and of the stream differ by an hour at most, ms. */
const MAX_CLOCK_GAP_MS = 3_600_000;

/**
 * How long before its first day an epoch is published, ms. By then every writer knows the epoch: samples are at most
 * {@link MAX_AHEAD_MS} ahead of a writer's clock. Two hours cover the gap between clocks, once for each sample and once for each
 * deletion ({@link endOfKnownEpochs}). The third covers a copy of the placement that is a minute old, and the request that uses it.
 */
export const EPOCH_LEAD_MS = MAX_AHEAD_MS + 3 * MAX_CLOCK_GAP_MS;

/**
 * The midnight before which each sample lies that was posted before `arrivalMs`. An epoch that a request knew nothing of, whose
 * record arrived at `arrivalMs`, begins at this midnight or later: see {@link EPOCH_LEAD_MS}.
 *
 * @param arrivalMs by the stream's clock
 */
export function endOfKnownEpochs(arrivalMs: number): number {
  return Math.ceil((arrivalMs + MAX_AHEAD_MS + MAX_CLOCK_GAP_MS) / DAY_MS) * DAY_MS;
}

/** The number of partitions of a tenant, from a UTC day on. */
export interface PlacementEpoch {
  readonly fromDay: Day;
  readonly partitions: number;
}

/** A tenant's partition map. */
export interface Placement {
  /** Ascending by day; the first is from `1970-01-01`. */
  readonly epochs: readonly PlacementEpoch[];
}

/** The number of partitions on a day. */
export function partitionsOn(placement: Placement, day: Day): number {
  const { epochs } = placement;
  // Without a closure: a read of a long range asks for each of its days.
  let i = epochs.length - 1;
  while (i > 0 && epochs[i]!.fromDay > day) i--;
  return epochs[i]!.partitions;
}

/** The highest number of partitions of any day. */
export function maxPartitions(placement: Placement): number {
  return Math.max(...placement.epochs.map((epoch) => epoch.partitions));
}

/** Most partitions that a tenant may have. */
export const MAX_PARTITIONS = 4096;

/** Partitions are equal ranges of the source id, so that the groups of a source lie together. */
export function partitionOf(sourceId: Id, partitions: number): number {
  if (sourceId !== lastHead.sourceId)
    lastHead = { sourceId, head: Buffer.from(sourceId.slice(0, 8), 'base64url').readUInt32BE(0) };
  return Math.floor((lastHead.head * partitions) / 2 ** 32);
}

/** A cache of one source: a read asks for each of its days. */
let lastHead: { readonly sourceId: Id; readonly head: number } = { sourceId: '', head: 0 };

/** A tenant's partition: what Redis, DynamoDB, S3 and Kinesis are keyed by. */
export interface PartitionRef {
  readonly tenantId: Id;
  readonly partition: number;
}

export function partitionText(partition: number): string {
  return partition.toString().padStart(4, '0');
}
