import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { RELEASE } from '../platform/names';
import type { ListedChunk } from './archive-format';
import { ArchiveWriter } from './parquet-writer';

export interface WrittenObject {
  readonly key: string;
  readonly etag: string;
  readonly bytes: number;
  /** The object's chunks, for the directory. */
  readonly chunks: readonly ListedChunk[];
}

/** Headers of every object in the archive. The metadata contains the release that wrote the object. */
export const OBJECT_HEADERS = {
  ContentType: 'application/octet-stream',
  Metadata: { release: RELEASE },
};

/**
 * Size of the parts of a multipart upload, in bytes. A smaller object is written with one PUT. S3 allows parts of 5 MB
 * to 5 GB, and at most 10,000 parts.
 */
export const UPLOAD_PART_BYTES = 8 * 1024 * 1024;

/**
 * Uploads an object while it is being written. Memory holds one part of a multipart upload. The object
 * becomes visible only when it is finished.
 */
export class ObjectUpload {
  readonly writer: ArchiveWriter;
  private written = 0;
  private buffered: Uint8Array[] = [];
  private bufferedBytes = 0;
  private uploadId: string | undefined;
  private readonly parts: CompletedPart[] = [];

  /** @param key a key that no object has ever had, which makes retries harmless */
  constructor(
    private readonly client: S3Client,
    private readonly bucket: string,
    readonly key: string,
  ) {
    this.writer = new ArchiveWriter((bytes) => this.add(bytes));
  }

  /** Number of bytes written so far. */
  get bytes(): number {
    return this.written;
  }

  /** Completes the upload. @param warm the warm items whose samples the object holds: sort key -> revision */
  async finish(warm: ReadonlyMap<string, string>): Promise<WrittenObject> {
    const chunks = await this.writer.finish(warm);
    const etag = this.uploadId === undefined ? await this.put() : await this.complete(this.uploadId);
    return { key: this.key, etag, bytes: this.written, chunks };
  }

  /** Cancels the upload. */
  async abort(): Promise<void> {
    const { uploadId: UploadId } = this;
    if (UploadId !== undefined)
      await this.client.send(new AbortMultipartUploadCommand({ ...this.target, UploadId }));
  }

  private get target() {
    return { Bucket: this.bucket, Key: this.key };
  }

  private async add(bytes: Uint8Array): Promise<void> {
    this.buffered.push(bytes);
    this.bufferedBytes += bytes.length;
    this.written += bytes.length;
    if (this.bufferedBytes >= UPLOAD_PART_BYTES) await this.send();
  }

  /** Sends the buffered bytes as a part. */
  private async send(): Promise<void> {
    const Body = this.take();
    if (this.uploadId === undefined) {
      const { UploadId } = await this.client.send(
        new CreateMultipartUploadCommand({ ...this.target, ...OBJECT_HEADERS }),
      );
      this.uploadId = UploadId!;
    }
    const PartNumber = this.parts.length + 1;
    const { ETag } = await this.client.send(
      new UploadPartCommand({ ...this.target, UploadId: this.uploadId, PartNumber, Body }),
    );
    this.parts.push({ PartNumber, ETag });
  }

  private async put(): Promise<string> {
    const { ETag } = await this.client.send(
      new PutObjectCommand({ ...this.target, Body: this.take(), ...OBJECT_HEADERS }),
    );
    return ETag!;
  }

  private async complete(UploadId: string): Promise<string> {
    if (this.bufferedBytes > 0) await this.send();
    try {
      const { ETag } = await this.client.send(
        new CompleteMultipartUploadCommand({
          ...this.target,
          UploadId,
          MultipartUpload: { Parts: this.parts },
        }),
      );
      return ETag!;
    } catch (error) {
      // If the reply to the first attempt was lost, the client's retry finds the upload already completed.
      if (!(error instanceof S3ServiceException) || error.name !== 'NoSuchUpload') throw error;
      const { ETag, ContentLength } = await this.client.send(new HeadObjectCommand(this.target));
      if (ContentLength !== this.written) throw error;
      return ETag!;
    }
  }

  private take(): Buffer {
    const body = Buffer.concat(this.buffered);
    this.buffered = [];
    this.bufferedBytes = 0;
    return body;
  }
}
