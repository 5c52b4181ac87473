import { DAY_MS } from './duration';
import { type Id, idBytes, idHead, idOf, idText } from './id';
import { type Labels, labelsKey } from './labels';

/**
 * Placement determines the window, group, partition and day to which a sample belongs. All four are derived from the
 * sample itself, so writers and readers agree without communicating (DESIGN.md, rule 11).
 */

/** A UTC day, such as `2026-11-21`. */
export type Day = string;

export function dayOf(timestampMs: number): Day {
  const number = Math.floor(timestampMs / DAY_MS);
  if (number !== lastNumber) {
    lastDay = knownDays.get(number) ?? newDay(number);
    lastNumber = number;
  }
  return lastDay;
}

/** The last result of {@link dayOf}. Consecutive samples nearly always have the same day. */
let lastNumber = 0;
let lastDay: Day = '1970-01-01';

/** Cached days, by number since 1970, and their start times, by day. A read of a long range needs hundreds of days. */
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
 * Returns the start of the window that contains a timestamp, in ms. Windows are aligned, and their length divides a
 * day, so no window spans two days.
 */
export function windowStartMs(timestampMs: number, windowMs: number): number {
  return Math.floor(timestampMs / windowMs) * windowMs;
}

export function tenantIdOf(tenant: string): Id {
  return idOf('tenant', tenant);
}

/**
 * Derives the id of a source, as bytes.
 *
 * @param source the labels that name the source
 */
export function sourceIdBytesOf(tenantId: Id, source: Labels): Buffer {
  return idBytes('source', tenantId, labelsKey(source));
}

export function sourceIdOf(tenantId: Id, source: Labels): Id {
  return idText(sourceIdBytesOf(tenantId, source));
}

/** Maximum average number of series in the groups of a source. A larger source is split. */
export const MAX_GROUP_SERIES = 256;
/** Maximum average size of the names and labels in the groups of a source, in bytes. 256 Mackerel metrics take less. */
const MAX_GROUP_LABEL_BYTES = 128 * 1024;

/**
 * Decides into how many groups series are split: the smallest power of two that keeps groups within
 * {@link MAX_GROUP_SERIES} and {@link MAX_GROUP_LABEL_BYTES} on average. The result depends only on the arguments, so
 * the split of a source may change over time. The catalogue remembers every split that the source has had, and readers
 * look in the groups of all of them.
 *
 * @param labelBytes total size of all names and labels, in bytes
 * @returns the split bits: the exponent of two, 0 to 15
 */
export function splitBitsFor(seriesCount: number, labelBytes = 0): number {
  const groups = Math.max(seriesCount / MAX_GROUP_SERIES, labelBytes / MAX_GROUP_LABEL_BYTES);
  let bits = 0;
  while (bits < 15 && groups > 2 ** bits) bits++;
  return bits;
}

/**
 * Returns the index of a series' group among the `2 ** splitBits` groups of its source.
 *
 * @param seriesKey {@link labelsKey} of the series
 */
export function splitIndexOf(seriesKey: string, splitBits: number): number {
  if (splitBits === 0) return 0;
  return idHead('series', seriesKey) >>> (32 - splitBits);
}

/**
 * Id of a group. It consists of the id of the group's source or pool, one hexadecimal digit for the split bits, and
 * four for the group's index: always 27 characters. The samples of a group are stored together in every tier.
 */
export type GroupId = string;

export const GROUP_ID_LENGTH = 27;

export function groupIdOf(sourceId: Id, splitBits: number, splitIndex: number): GroupId {
  return `${sourceId}${splitBits.toString(16)}${splitIndex.toString(16).padStart(4, '0')}`;
}

/** Returns the id of the source or pool that a group belongs to. */
export function sourceIdOfGroup(group: GroupId): Id {
  return group.slice(0, 22);
}

export function splitBitsOfGroup(group: GroupId): number {
  return Number.parseInt(group[22]!, 16);
}

/** How far a sample's timestamp may be ahead of the present, in every protocol, in ms. Mackerel's limit is 24 hours. */
export const MAX_AHEAD_MS = DAY_MS;

/** Assumed maximum clock skew between writers, operators and the stream, in ms. */
const MAX_CLOCK_GAP_MS = 3_600_000;

/**
 * An epoch is published this long before its first day, in ms. Every writer must know the epoch before anybody can post
 * a sample of that day. A sample may be {@link MAX_AHEAD_MS} ahead of a writer's clock. Three hours are added to this:
 * one for the clock skew of samples, one for that of deletions ({@link endOfKnownEpochs}), and one because a request
 * may use a copy of the placement that is a minute old.
 */
export const EPOCH_LEAD_MS = MAX_AHEAD_MS + 3 * MAX_CLOCK_GAP_MS;

/**
 * Returns a midnight that is later than any sample posted before `arrivalMs`. If a record arrived at `arrivalMs`, all
 * epochs that its writer did not know about begin at this midnight or later: see {@link EPOCH_LEAD_MS}.
 *
 * @param arrivalMs arrival time of the record, by the stream's clock
 */
export function endOfKnownEpochs(arrivalMs: number): number {
  return Math.ceil((arrivalMs + MAX_AHEAD_MS + MAX_CLOCK_GAP_MS) / DAY_MS) * DAY_MS;
}

/** An epoch: a run of days on which a tenant has the same number of partitions. It ends where the next epoch begins. */
export interface PlacementEpoch {
  readonly fromDay: Day;
  readonly partitions: number;
}

/** The numbers of partitions of a tenant over time. */
export interface Placement {
  /** Ascending by day. The first begins on `1970-01-01`. */
  readonly epochs: readonly PlacementEpoch[];
}

export function partitionsOn(placement: Placement, day: Day): number {
  const { epochs } = placement;
  // Use a loop, which allocates nothing: a read of a long range calls this function for each day.
  let i = epochs.length - 1;
  while (i > 0 && epochs[i]!.fromDay > day) i--;
  return epochs[i]!.partitions;
}

/** Returns the highest number of partitions on any day. */
export function maxPartitions(placement: Placement): number {
  return Math.max(...placement.epochs.map((epoch) => epoch.partitions));
}

/** Maximum number of partitions of a tenant. */
export const MAX_PARTITIONS = 4096;

/**
 * Returns the partition of a source or pool. The ids are hashes, and each partition is an equally large range
 * of ids. All groups of a source are therefore in one partition.
 *
 * @param partitions number of partitions on the day of the samples
 */
export function partitionOf(sourceId: Id, partitions: number): number {
  if (sourceId !== lastHead.sourceId)
    lastHead = { sourceId, head: Buffer.from(sourceId.slice(0, 8), 'base64url').readUInt32BE(0) };
  return Math.floor((lastHead.head * partitions) / 2 ** 32);
}

/**
 * The source that {@link partitionOf} was last called with. It is cached because a read calls that function once for
 * each of its days.
 */
let lastHead: { readonly sourceId: Id; readonly head: number } = { sourceId: '', head: 0 };

/** A partition of a tenant. Keys in Redis, DynamoDB, S3 and Kinesis are made from it. */
export interface PartitionRef {
  readonly tenantId: Id;
  readonly partition: number;
}

/**
 * Returns the Kinesis partition key of a partition. Because all records of a partition have the same key, they go to
 * one shard, which keeps them in order. Maps that are keyed by partition use this key, too.
 */
export function partitionKeyOf({ tenantId, partition }: PartitionRef): string {
  return `${tenantId}:${partition}`;
}

/** Formats a partition for keys: four digits. */
export function partitionText(partition: number): string {
  return partition.toString().padStart(4, '0');
}
