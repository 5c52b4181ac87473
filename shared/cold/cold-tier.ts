import {
  GetObjectCommand,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { Id } from '../model/id';
import { decodeLayout, type Layout } from '../model/layout';
import type { Day, PartitionRef } from '../model/placement';
import { bucketKeys } from '../platform/keys';
import {
  type ArchivedChunk,
  type ArchiveIndex,
  CorruptArchiveError,
  decodeIndex,
  FOOTER_BYTES,
  locateIndex,
} from './archive-object';

/** The object was replaced while it was read: the read begins again, from the index. */
export class ObjectChangedError extends Error {
  override readonly name = 'ObjectChangedError';
}

/** What a suffix read fetches at first: the index of a day of up to some thousand groups. */
const TAIL_BYTES = 64 * 1024;

/** One version of a partition-day's object, of which every read is of the same version (design.md, rule 5). */
export interface OpenArchive {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  readonly index: ArchiveIndex;
  /** @throws {ObjectChangedError} */
  chunk(chunk: ArchivedChunk): Promise<Uint8Array>;
  /** @throws {ObjectChangedError} */
  layout(id: Id): Promise<Layout>;
}

/**
 * The archive in S3: one object per partition-day, at a key that never has two versions under one listing.
 */
export class ColdTier {
  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
  ) {}

  keyOf(ref: PartitionRef, day: Day): string {
    return bucketKeys.archive(ref, day);
  }

  /**
   * Opens an object: its index, by one range read, two when the index is large.
   *
   * @returns undefined when there is none
   */
  async open(key: string): Promise<OpenArchive | undefined> {
    const tail = await this.get(key, `bytes=-${TAIL_BYTES}`, undefined);
    if (tail === undefined) return undefined;
    const { etag, objectBytes } = tail;
    const tailStart = objectBytes - tail.body.length;
    const { offset, length, crc } = locateIndex(tail.body.subarray(-FOOTER_BYTES), objectBytes);
    const range = async (from: number, count: number): Promise<Uint8Array> => {
      if (from >= tailStart) return tail.body.subarray(from - tailStart, from - tailStart + count);
      const part = await this.get(key, `bytes=${from}-${from + count - 1}`, etag);
      if (part?.body.length !== count) throw new CorruptArchiveError(`${count} bytes at ${from} of ${key}`);
      return part.body;
    };
    const index = decodeIndex(await range(offset, length), crc);
    const layouts = new Map(index.layouts.map((layout) => [layout.id, layout]));
    return {
      key,
      etag,
      bytes: objectBytes,
      index,
      chunk: (chunk) => range(chunk.offset, chunk.length),
      layout: async (id) => {
        const at = layouts.get(id);
        if (at === undefined) throw new CorruptArchiveError(`${key} has no layout ${id}`);
        const layout = decodeLayout(await range(at.offset, at.length));
        if (layout.id !== id) throw new CorruptArchiveError(`layout ${id} of ${key} is ${layout.id}`);
        return layout;
      },
    };
  }

  /**
   * Writes a partition-day's object.
   *
   * @param previous the ETag it replaces, or undefined when there was none
   * @returns its ETag, or undefined when another writer came first; nothing was changed
   */
  async put(key: string, body: Uint8Array, previous: string | undefined): Promise<string | undefined> {
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
      return ETag;
    } catch (error) {
      // 409: a concurrent conditional write is being settled; to the caller that is having come second.
      if (statusOf(error) === 412 || statusOf(error) === 409) return undefined;
      throw error;
    }
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
