import {
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  NoSuchKey,
  PutObjectCommand,
  paginateListObjectsV2,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { Id } from '../model/id';
import type { Day, PartitionRef } from '../model/placement';
import { randomId } from '../model/random-id';
import type { LocatedBlock, Selection } from '../model/selection';
import { anyLimiter, JoinedCalls, type Limiter, mapLimited } from '../platform/concurrency';
import { bucketKeys } from '../platform/keys';
import { getObject } from '../platform/object-body';
import type { ListedSource } from './archive-directory';
import { type ByteRange, CorruptArchiveError, isRequested } from './archive-format';
import { fetchMerged } from './merged-ranges';
import { OBJECT_HEADERS, ObjectUpload } from './object-upload';
import { type ArchiveReader, openArchiveObject, readListed } from './parquet-reader';
import { ReadAhead } from './read-ahead';

/**
 * The object no longer exists, or its key now holds a different object. The caller must start the read over, beginning
 * with the manifest.
 */
export class ObjectGoneError extends Error {
  override readonly name = 'ObjectGoneError';
}

interface LimitedRange extends ByteRange {
  readonly limit: Limiter;
}

/**
 * Number of bytes that the first read of an object fetches from the object's end. An index of a few thousand groups
 * fits into this many bytes.
 */
const TAIL_BYTES = 64 * 1024;
/** Maximum number of object versions removed at the same time. */
const PARALLEL = 32;

/** One version of a partition-day's object. All reads use this version (DESIGN.md, rule 5). */
export interface ArchiveObject {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  /** Its reads throw {@link ObjectGoneError} if the object no longer exists. */
  readonly reader: ArchiveReader;
}

/**
 * The archive in S3. A partition-day may have objects that are not committed. Only objects that the manifest names
 * are valid. No object is ever overwritten.
 */
export class ColdTier {
  /** Concurrent calls to open the same object. They share requests. */
  private readonly opened = new JoinedCalls<Limiter, ArchiveObject | undefined>();
  /** Concurrent reads of the same object. Reads of nearby ranges share a request. */
  private readonly ranges = new JoinedCalls<LimitedRange, Uint8Array>();

  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
  ) {}

  /**
   * Creates a key that no object has ever had.
   *
   * @param announcements the day's `announcements` in the manifest when the archiver began to read the day
   */
  newKey(ref: PartitionRef, day: Day, announcements: number): string {
    return bucketKeys.archive(ref, day, announcements, randomId());
  }

  /**
   * Opens an object. One range read fetches its index; a large index takes a second one.
   *
   * @param isSequential whether to read ahead, for a caller that reads the whole object in order
   * @returns undefined if there is no such object
   * @throws {CorruptArchiveError}
   */
  async open(key: string, { isSequential = false } = {}): Promise<ArchiveObject | undefined> {
    const tail = await this.get(key, `bytes=-${TAIL_BYTES}`, undefined);
    if (tail === undefined) return undefined;
    const { etag, objectBytes } = tail;
    const tailStart = objectBytes - tail.body.length;
    const fetch = async ({ offset, length }: ByteRange): Promise<Uint8Array> => {
      if (offset >= tailStart) return tail.body.subarray(offset - tailStart, offset - tailStart + length);
      const part = await this.get(key, `bytes=${offset}-${offset + length - 1}`, etag);
      if (part?.body.length !== length)
        throw new CorruptArchiveError(`${key} lacks the ${length} bytes at ${offset}`);
      return part.body;
    };
    const ahead = new ReadAhead(fetch, objectBytes);
    const slice = isSequential ? (range: ByteRange) => ahead.slice(range) : fetch;
    const reader = await openArchiveObject({ key, byteLength: objectBytes, slice });
    return { key, etag, bytes: objectBytes, reader };
  }

  /** Opens an object like {@link open}. Concurrent callers share the opened object. */
  openTogether(key: string, limit: Limiter): Promise<ArchiveObject | undefined> {
    return this.opened.add(key, limit, async (limits) => {
      const object = await anyLimiter(limits)(() => this.open(key));
      return limits.map(() => object);
    });
  }

  /**
   * Reads series of an object according to its directory entry. Concurrent reads of nearby bytes share a
   * request.
   *
   * @param isContested returns whether the caller may also get samples from `minMs` to `maxMs`, both inclusive, from
   *   another tier or object. If so, the versions are read too, because they must be compared
   * @param limit limits the number of concurrent requests of several reads
   * @throws {ObjectGoneError}
   */
  async readListed(
    { key, etag, chunks }: ListedSource,
    selection: Selection,
    isContested: (minMs: number, maxMs: number) => boolean,
    limit: Limiter,
  ): Promise<LocatedBlock[]> {
    const slice = (range: ByteRange) => this.sliceTogether(key, etag, range, limit);
    const requested = chunks.filter(({ chunk }) => isRequested(chunk, selection));
    const found = await Promise.all(
      requested.map((listed) => {
        const { minTimestamp, maxTimestamp } = listed.chunk;
        const withVersions =
          isContested(minTimestamp, maxTimestamp) ||
          requested.some(
            (other) =>
              other !== listed &&
              other.chunk.minTimestamp <= maxTimestamp &&
              other.chunk.maxTimestamp >= minTimestamp,
          );
        return readListed({ key, slice }, listed, selection, withVersions);
      }),
    );
    return found.filter((block) => block !== undefined);
  }

  /** Begins to upload an object of an archived day. The object is valid only once the manifest names it. */
  begin(key: string): ObjectUpload {
    return new ObjectUpload(this.client, this.bucket, key);
  }

  /** Lists every object of a partition-day, committed or not. */
  async list(ref: PartitionRef, day: Day): Promise<string[]> {
    return this.keysOf(bucketKeys.archiveDay(ref, day));
  }

  /** Lists every rollup object of a partition's span, committed or not. */
  async listRollups(ref: PartitionRef, span: string): Promise<string[]> {
    return this.keysOf(bucketKeys.rollupsOfSpan(ref, span));
  }

  /** Writes a rollup object. Returns its ETag. */
  async put(key: string, body: Uint8Array): Promise<string> {
    const { ETag } = await this.client.send(
      new PutObjectCommand({
        Bucket: this.bucket,
        Key: key,
        Body: body,
        ...OBJECT_HEADERS,
      }),
    );
    return ETag!;
  }

  /** Reads a whole object; undefined when there is none. */
  async bytes(key: string): Promise<Buffer | undefined> {
    const found = await this.get(key, 'bytes=0-', undefined);
    return found && Buffer.from(found.body.buffer, found.body.byteOffset, found.body.length);
  }

  /**
   * Reads a range of one version of an object.
   *
   * @throws {ObjectGoneError}
   */
  async slice(key: string, etag: string, { offset, length }: ByteRange): Promise<Uint8Array> {
    return (await this.get(key, `bytes=${offset}-${offset + length - 1}`, etag))!.body;
  }

  private sliceTogether(key: string, etag: string, range: ByteRange, limit: Limiter): Promise<Uint8Array> {
    return this.ranges.add(`${key} ${etag}`, { ...range, limit }, async (all) => {
      const bound = anyLimiter(all.map((each) => each.limit));
      return fetchMerged(all, (part) => bound(() => this.slice(key, etag, part)));
    });
  }

  /** Removes an object. The bucket keeps old versions for a month. */
  async remove(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: key }));
  }

  /**
   * Removes all versions and delete markers of a tenant's objects, until time is up.
   *
   * @param hasTime called before each page of a thousand versions
   * @returns the number of versions and markers removed, and whether none are left
   */
  async eraseTenant(
    tenantId: Id,
    hasTime: () => boolean,
  ): Promise<{ readonly versions: number; readonly isDone: boolean }> {
    let versions = 0;
    const prefixes = [bucketKeys.archiveOf(tenantId), bucketKeys.rollupsOf(tenantId)];
    while (hasTime()) {
      const [prefix] = prefixes;
      if (prefix === undefined) return { versions, isDone: true };
      const { Versions = [], DeleteMarkers = [] } = await this.client.send(
        new ListObjectVersionsCommand({ Bucket: this.bucket, Prefix: prefix }),
      );
      const found = [...Versions, ...DeleteMarkers];
      if (found.length === 0) prefixes.shift();
      // Delete by version id. Without one, a versioned bucket would only hide the newest version.
      await mapLimited(found, PARALLEL, ({ Key, VersionId }) =>
        this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: Key!, VersionId })),
      );
      versions += found.length;
    }
    return { versions, isDone: false };
  }

  private async keysOf(Prefix: string): Promise<string[]> {
    const keys: string[] = [];
    const pages = paginateListObjectsV2({ client: this.client }, { Bucket: this.bucket, Prefix });
    for await (const { Contents = [] } of pages) keys.push(...Contents.map(({ Key }) => Key!));
    return keys;
  }

  private async get(key: string, range: string, etag: string | undefined) {
    try {
      const input = { Bucket: this.bucket, Key: key, Range: range, IfMatch: etag };
      const { bytes, ETag, ContentRange, ContentLength } = await getObject(this.client, input);
      return { body: bytes, etag: ETag!, objectBytes: Number(ContentRange?.split('/')[1] ?? ContentLength) };
    } catch (error) {
      if (statusOf(error) === 412) throw new ObjectGoneError(`${key} has become another object`);
      if (error instanceof NoSuchKey) {
        if (etag !== undefined) throw new ObjectGoneError(`${key} was removed while it was read`);
        return undefined;
      }
      throw error;
    }
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}
