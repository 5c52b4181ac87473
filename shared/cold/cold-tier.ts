import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectVersionsCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { type ArchiveVersion, FORMATS } from '../model/formats';
import type { Id } from '../model/id';
import type { Day, PartitionRef } from '../model/placement';
import type { LocatedBlock, Selection } from '../model/selection';
import { mapLimited } from '../platform/concurrency';
import { bucketKeys } from '../platform/keys';
import {
  type ArchiveReader,
  type ArchiveWriter,
  type ByteRange,
  CorruptArchiveError,
  isAsked,
  type ListedChunk,
} from './archive-format';
import type { ListedSource } from './directory';
import { ARCHIVE_FORMATS, openObject } from './formats';
import { readListed } from './parquet-format';

/** The object was replaced while it was read: the read begins again, from the index. */
export class ObjectChangedError extends Error {
  override readonly name = 'ObjectChangedError';
}

/** The first read of an object fetches this many of its last bytes: the index of some thousand groups. */
const TAIL_BYTES = 64 * 1024;
/** Versions of objects that are removed side by side. */
const PARALLEL = 32;

/** One version of a partition-day's object: every read is of this version (DESIGN.md, rule 5). */
export interface OpenArchive {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  readonly version: ArchiveVersion;
  /** Its reads throw {@link ObjectChangedError} when the object was replaced. */
  readonly reader: ArchiveReader;
}

/** An object as it was written. */
export interface WrittenObject {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  /** For the directory. */
  readonly chunks: readonly ListedChunk[];
}

/**
 * The archive in S3: one object per partition-day, at a key that never has two versions under one listing.
 */
export class ColdTier {
  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
    /** Format of the objects that are written; every format is read. */
    private readonly version: ArchiveVersion = FORMATS.archive.writes[0],
  ) {}

  /** The key of the object that {@link write} writes for a day; one of another format has another key. */
  keyOf(ref: PartitionRef, day: Day): string {
    return bucketKeys.archive(ref, day, this.version);
  }

  /**
   * Opens an object: one range read fetches its index, a second one if the index is large.
   *
   * @returns undefined when there is no object
   * @throws {CorruptArchiveError}
   */
  async open(key: string): Promise<OpenArchive | undefined> {
    const tail = await this.get(key, `bytes=-${TAIL_BYTES}`, undefined);
    if (tail === undefined) return undefined;
    const { etag, objectBytes } = tail;
    const tailStart = objectBytes - tail.body.length;
    const slice = async ({ offset, length }: ByteRange): Promise<Uint8Array> => {
      if (offset >= tailStart) return tail.body.subarray(offset - tailStart, offset - tailStart + length);
      const part = await this.get(key, `bytes=${offset}-${offset + length - 1}`, etag);
      if (part?.body.length !== length)
        throw new CorruptArchiveError(`${key} lacks the ${length} bytes at ${offset}`);
      return part.body;
    };
    const object = await openObject({ key, byteLength: objectBytes, slice });
    return { key, etag, bytes: objectBytes, ...object };
  }

  /**
   * Reads series of an object by its directory's entry: a request for each chunk of a group.
   *
   * @param isContested whether the read has, or may have, other samples of these times, ms, both included
   * @throws {ObjectChangedError} when the object is another by now
   */
  async readListed(
    { key, etag, chunks }: ListedSource,
    selection: Selection,
    isContested: (minMs: number, maxMs: number) => boolean,
  ): Promise<LocatedBlock[]> {
    const slice = async ({ offset, length }: ByteRange): Promise<Uint8Array> => {
      const part = await this.get(key, `bytes=${offset}-${offset + length - 1}`, etag);
      return part!.body;
    };
    const asked = chunks.filter(({ chunk }) => isAsked(chunk, selection));
    const found = await Promise.all(
      asked.map((listed) => {
        const { minTimestamp, maxTimestamp } = listed.chunk;
        const withVersions =
          isContested(minTimestamp, maxTimestamp) ||
          asked.some(
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

  /**
   * Writes a partition-day's object, which is held in memory until it is whole. Nothing is written if `fill` fails.
   *
   * @param previous the ETag it replaces; undefined when there was no object
   * @param fill adds every group and finishes
   * @returns undefined when another writer came first; nothing was changed
   */
  async write(
    key: string,
    previous: string | undefined,
    fill: (writer: ArchiveWriter) => Promise<readonly ListedChunk[] | undefined>,
  ): Promise<WrittenObject | undefined> {
    const parts: Uint8Array[] = [];
    const listed = await fill(
      ARCHIVE_FORMATS[this.version].writer(async (part) => {
        parts.push(part);
      }),
    );
    const body = Buffer.concat(parts);
    try {
      const { ETag } = await this.client.send(
        new PutObjectCommand({
          Bucket: this.bucket,
          Key: key,
          Body: body,
          ContentType: 'application/octet-stream',
          ...(previous === undefined ? { IfNoneMatch: '*' } : { IfMatch: previous }),
        }),
      );
      return { key, etag: ETag!, bytes: body.length, chunks: listed ?? [] };
    } catch (error) {
      // 409: a concurrent conditional write is being settled, which is to have come second too.
      if (statusOf(error) === 412 || statusOf(error) === 409) return undefined;
      throw error;
    }
  }

  /** The ETag of what lies at a key; undefined when nothing does. */
  async etag(key: string): Promise<string | undefined> {
    return (await this.get(key, 'bytes=0-0', undefined))?.etag;
  }

  /** Writes a rollup's object. Returns its ETag. */
  async put(key: string, body: Uint8Array): Promise<string> {
    const { ETag } = await this.client.send(
      new PutObjectCommand({
        Bucket: this.bucket,
        Key: key,
        Body: body,
        ContentType: 'application/octet-stream',
      }),
    );
    return ETag!;
  }

  /** A whole object; undefined when there is none. */
  async bytes(key: string): Promise<Buffer | undefined> {
    const found = await this.get(key, 'bytes=0-', undefined);
    return found && Buffer.from(found.body.buffer, found.body.byteOffset, found.body.length);
  }

  /**
   * A range of one version of an object.
   *
   * @throws {ObjectChangedError} when the object is another by now
   */
  async slice(key: string, etag: string, { offset, length }: ByteRange): Promise<Uint8Array> {
    return (await this.get(key, `bytes=${offset}-${offset + length - 1}`, etag))!.body;
  }

  /** Removes an object. The bucket keeps its versions for a month. */
  async remove(key: string): Promise<void> {
    await this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: key }));
  }

  /**
   * Removes every version of every object of a tenant, and the delete markers, until time is up.
   *
   * @param hasTime asked before each thousand
   * @returns how many were removed, and whether none is left
   */
  async eraseTenant(
    tenantId: Id,
    hasTime: () => boolean,
  ): Promise<{ readonly versions: number; readonly isDone: boolean }> {
    let versions = 0;
    const prefixes = [
      ...FORMATS.archive.reads.map((version) => bucketKeys.archiveOf(tenantId, version)),
      bucketKeys.rollupsOf(tenantId),
    ];
    while (hasTime()) {
      const [prefix] = prefixes;
      if (prefix === undefined) return { versions, isDone: true };
      const { Versions = [], DeleteMarkers = [] } = await this.client.send(
        new ListObjectVersionsCommand({ Bucket: this.bucket, Prefix: prefix }),
      );
      const found = [...Versions, ...DeleteMarkers];
      if (found.length === 0) prefixes.shift();
      // By version id: without one, a versioned bucket would only hide the newest.
      await mapLimited(found, PARALLEL, ({ Key, VersionId }) =>
        this.client.send(new DeleteObjectCommand({ Bucket: this.bucket, Key: Key!, VersionId })),
      );
      versions += found.length;
    }
    return { versions, isDone: false };
  }

  private async get(key: string, range: string, etag: string | undefined) {
    try {
      const { Body, ETag, ContentRange, ContentLength } = await this.client.send(
        new GetObjectCommand({ Bucket: this.bucket, Key: key, Range: range, IfMatch: etag }),
      );
      const body = await Body!.transformToByteArray();
      return { body, etag: ETag!, objectBytes: Number(ContentRange?.split('/')[1] ?? ContentLength) };
    } catch (error) {
      if (statusOf(error) === 412) throw new ObjectChangedError(`${key} was replaced while it was read`);
      if (error instanceof NoSuchKey) {
        if (etag !== undefined) throw new ObjectChangedError(`${key} was removed while it was read`);
        return undefined;
      }
      throw error;
    }
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}
