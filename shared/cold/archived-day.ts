import { idBytes } from '../model/id';
import type { Day, GroupId, PartitionRef } from '../model/placement';
import { bucketKeys } from '../platform/keys';
import { CorruptArchiveError } from './archive-format';

/**
 * One object of an archived day. It contains a range of the day's groups, and can be read without the day's other
 * objects. Its key is never reused.
 */
export interface ArchivedPart {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  readonly samples: number;
  /**
   * The part contains the day's groups from this one up to the next part's first group. The first part also contains
   * any groups before this one.
   */
  readonly firstGroup: GroupId;
}

/** The archiver's commit of a partition-day. */
export interface DayCommit {
  /** How many times flushes had announced the day when the archiver began to read it. */
  readonly announcements: number;
  /** At least one part, in ascending order of their first groups. */
  readonly parts: readonly ArchivedPart[];
  /** The time of the commit, as Unix time in ms. */
  readonly atMs: number;
}

/** A partition-day's committed objects. */
export interface ArchivedDay extends DayCommit {
  /**
   * Identifies this state of the day; it changes whenever one of the day's objects changes. Eight bytes, as hexadecimal
   * digits.
   */
  readonly identity: string;
}

const VERSION = '1';
export const IDENTITY_BYTES = 8;
const FIELDS_OF_DAY = 4;
const FIELDS_OF_PART = 5;

/**
 * Encodes a day's entry in the manifest: fields separated by spaces, five for each part. A read of 460 days fetches 460
 * entries, so an entry leaves out everything that the item's key already contains.
 *
 *     1 identity announcements atMs   name etag bytes samples firstGroup   ...
 *
 * `1` is the version of the format. `name` is the end of the object's key. The ETag has no quotes. The first part's
 * `firstGroup` may be empty.
 */
export function encodeArchived(
  ref: PartitionRef,
  day: Day,
  { announcements, parts, atMs }: DayCommit,
): string {
  const identity = idBytes('archived day', ...parts.map(({ etag }) => etag)).toString(
    'hex',
    0,
    IDENTITY_BYTES,
  );
  const fields = parts.flatMap(({ key, etag, bytes, samples, firstGroup }) => [
    bucketKeys.parseArchiveName(ref, day, key),
    etag.replaceAll('"', ''),
    bytes,
    samples,
    firstGroup,
  ]);
  return [VERSION, identity, announcements, atMs, ...fields].join(' ');
}

/** @throws {CorruptArchiveError} when the entry has another format version, such as that of a later release */
export function decodeArchived(ref: PartitionRef, day: Day, text: string): ArchivedDay {
  const fields = text.split(' ');
  const [version, identity, announcements, atMs] = fields;
  if (version !== VERSION)
    throw new CorruptArchiveError(`the manifest's entry of ${day} has the unknown version ${version}`);
  const parts: ArchivedPart[] = [];
  for (let at = FIELDS_OF_DAY; at < fields.length; at += FIELDS_OF_PART)
    parts.push({
      key: bucketKeys.archiveNamed(ref, day, fields[at]!),
      etag: `"${fields[at + 1]}"`,
      bytes: Number(fields[at + 2]),
      samples: Number(fields[at + 3]),
      firstGroup: fields[at + 4]!,
    });
  return { identity: identity!, announcements: Number(announcements), parts, atMs: Number(atMs) };
}
