import { createHash } from 'node:crypto';
import { AwsError } from './aws-error';
import { compareTexts } from './expressions';
import type { Meter } from './meter';

/** Decides which of S3's freedoms (faults/freedoms.json) the model uses in a call. */
export interface BucketFreedoms {
  /** Maximum number of keys in the next page; undefined for as many as requested. */
  pageKeys(): number | undefined;
  /** Whether a conditional PUT fails because of a concurrent PUT. */
  isConflict(): boolean;
}

export interface S3Request {
  readonly method: string;
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface S3Response {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

interface StoredObject {
  readonly body: Buffer;
  readonly etag: string;
  readonly modifiedMs: number;
  readonly headers: Record<string, string>;
}

/** A model of one bucket without versions. It answers the HTTP requests that the functions make. */
export class S3Model {
  private readonly objects = new Map<string, StoredObject>();
  private readonly uploads = new Map<string, Map<number, Buffer>>();
  private uploaded = 0;

  constructor(
    private readonly now: () => number,
    private readonly freedoms: BucketFreedoms = { pageKeys: () => undefined, isConflict: () => false },
    private readonly meter?: Meter,
  ) {}

  get keys(): readonly string[] {
    return [...this.objects.keys()];
  }

  /** Bytes of all objects. */
  get bytes(): number {
    let bytes = 0;
    for (const { body } of this.objects.values()) bytes += body.length;
    return bytes;
  }

  body(key: string): Buffer {
    return this.objects.get(key)!.body;
  }

  modifiedMs(key: string): number {
    return this.objects.get(key)!.modifiedMs;
  }

  call(request: S3Request): S3Response {
    const response = this.respond(request);
    const { method, key, body } = request;
    // S3 bills a list request like a write, and does not bill deletions.
    if (method === 'PUT' || method === 'POST' || (method === 'GET' && key === ''))
      this.meter?.putObject(key, body.length);
    else if (method !== 'DELETE')
      this.meter?.getObject(key, this.objects.get(key)?.body.length ?? 0, request.headers.range);
    return response;
  }

  private respond(request: S3Request): S3Response {
    const { method, key, query } = request;
    if (key === '' && 'versions' in query) return this.versions(query);
    if (key === '') return this.list(query);
    if (method === 'POST' && 'uploads' in query) return this.createUpload();
    if (method === 'POST') return this.completeUpload(request);
    if (method === 'PUT' && 'partNumber' in query) return this.uploadPart(request);
    if (method === 'PUT') return this.put(request);
    if (method === 'GET' || method === 'HEAD') return this.get(request);
    if (method !== 'DELETE') throw new AwsError(405, 'MethodNotAllowed');
    if ('uploadId' in query) this.uploads.delete(query.uploadId!);
    else {
      this.meterOld(key);
      this.objects.delete(key);
    }
    return s3Response({}, '', 204);
  }

  /** Puts an object, as Lambda does for an on-failure destination. */
  store(key: string, body: Buffer, headers: Record<string, string> = {}): string {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    this.meterOld(key);
    this.objects.set(key, { body, etag, modifiedMs: this.now(), headers });
    return etag;
  }

  /** Tells the meter that an object is about to be replaced or deleted. */
  private meterOld(key: string): void {
    const old = this.objects.get(key);
    if (old !== undefined) this.meter?.replaceObject(old.body.length);
  }

  private put({ key, headers, body }: S3Request): S3Response {
    const old = this.objects.get(key);
    const isConditional = headers['if-match'] !== undefined || headers['if-none-match'] !== undefined;
    if (isConditional && this.freedoms.isConflict()) throw new AwsError(409, 'ConditionalRequestConflict');
    if (headers['if-none-match'] === '*' && old !== undefined) throw new AwsError(412, 'PreconditionFailed');
    if (headers['if-match'] !== undefined && old === undefined) throw new AwsError(404, 'NoSuchKey');
    if (headers['if-match'] !== undefined && old?.etag !== headers['if-match'])
      throw new AwsError(412, 'PreconditionFailed');
    const kept = Object.entries(headers).filter(
      ([name]) => name === 'content-type' || name.startsWith('x-amz-meta-'),
    );
    return s3Response({ etag: this.store(key, body, Object.fromEntries(kept)) });
  }

  private get({ method, key, headers }: S3Request): S3Response {
    const object = this.objects.get(key);
    if (object === undefined) throw new AwsError(404, 'NoSuchKey');
    const { etag, body, modifiedMs } = object;
    const known = {
      ...object.headers,
      etag,
      'last-modified': new Date(modifiedMs).toUTCString(),
      'accept-ranges': 'bytes',
    };
    if (headers['if-match'] !== undefined && headers['if-match'] !== etag)
      throw new AwsError(412, 'PreconditionFailed');
    if (method === 'HEAD')
      return { ...s3Response(known), headers: { ...known, 'content-length': String(body.length) } };
    const range = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '');
    if (range === null) return s3Response(known, body);
    const [, first, last] = range as unknown as [string, string, string];
    const from = first === '' ? Math.max(0, body.length - Number(last)) : Number(first);
    const to = first === '' || last === '' ? body.length : Math.min(body.length, Number(last) + 1);
    if (from >= body.length) throw new AwsError(416, 'InvalidRange');
    return s3Response(
      { ...known, 'content-range': `bytes ${from}-${to - 1}/${body.length}` },
      body.subarray(from, to),
      206,
    );
  }

  private list(query: S3Request['query']): S3Response {
    const maxKeys = Number(query['max-keys'] ?? 1000);
    const most = Math.max(1, Math.min(maxKeys, 1000, this.freedoms.pageKeys() ?? maxKeys));
    const after = query['continuation-token'] ?? query['start-after'] ?? '';
    const found = this.sorted(query.prefix).filter((key) => compareTexts(key, after) > 0);
    const page = found.slice(0, most);
    const isCut = page.length < found.length;
    return xml(
      'ListBucketResult',
      page.map((key) => `<Contents>${this.described(key)}</Contents>`).join('') +
        `<KeyCount>${page.length}</KeyCount><MaxKeys>${maxKeys}</MaxKeys><IsTruncated>${isCut}</IsTruncated>` +
        (isCut ? `<NextContinuationToken>${escaped(page.at(-1)!)}</NextContinuationToken>` : ''),
    );
  }

  private versions(query: S3Request['query']): S3Response {
    const page = this.sorted(query.prefix).slice(0, 1000);
    const entries = page.map(
      (key) =>
        `<Version>${this.described(key)}<VersionId>null</VersionId><IsLatest>true</IsLatest></Version>`,
    );
    return xml('ListVersionsResult', `${entries.join('')}<IsTruncated>false</IsTruncated>`);
  }

  private sorted(prefix = ''): string[] {
    return this.keys.filter((key) => key.startsWith(prefix)).sort(compareTexts);
  }

  private described(key: string): string {
    const { body, etag, modifiedMs } = this.objects.get(key)!;
    return `<Key>${escaped(key)}</Key><Size>${body.length}</Size><ETag>${escaped(etag)}</ETag><LastModified>${new Date(modifiedMs).toISOString()}</LastModified>`;
  }

  private createUpload(): S3Response {
    const id = `upload-${this.uploaded++}`;
    this.uploads.set(id, new Map());
    return xml('InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`);
  }

  private uploadPart({ query, body }: S3Request): S3Response {
    this.partsOf(query).set(Number(query.partNumber), body);
    return s3Response({ etag: `"${createHash('md5').update(body).digest('hex')}"` });
  }

  private completeUpload({ key, query }: S3Request): S3Response {
    const parts = [...this.partsOf(query)].sort(([a], [b]) => a - b);
    this.uploads.delete(query.uploadId!);
    const etag = this.store(key, Buffer.concat(parts.map(([, body]) => body)));
    return xml('CompleteMultipartUploadResult', `<ETag>${escaped(etag)}</ETag><Key>${escaped(key)}</Key>`);
  }

  private partsOf({ uploadId = '' }: S3Request['query']): Map<number, Buffer> {
    const parts = this.uploads.get(uploadId);
    if (parts === undefined) throw new AwsError(404, 'NoSuchUpload');
    return parts;
  }
}

function s3Response(headers: Record<string, string>, body: Buffer | string = '', status = 200): S3Response {
  const bytes = Buffer.from(body);
  return { status, headers: { ...headers, 'content-length': String(bytes.length) }, body: bytes };
}

function xml(name: string, inner: string): S3Response {
  return s3Response(
    { 'content-type': 'application/xml' },
    `<?xml version="1.0"?><${name}>${inner}</${name}>`,
  );
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
