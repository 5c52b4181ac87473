import { hash } from 'node:crypto';

/**
 * AWS Signature Version 4, computed synchronously, because ioredis cannot wait for a password. Direct calls carry the
 * signature in headers; passwords for ElastiCache carry it in a query string. The SDK's signer, which is more general,
 * takes 27 us for a call; this one takes 8 us.
 *
 * @see https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A request to be signed in a header. */
export interface SignedRequest {
  readonly method: 'GET' | 'POST';
  /** URI-encoded path, without a query. */
  readonly path: string;
  /** Headers with lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Signs a request. Returns its headers, including the headers that authenticate it, with lower-case names. */
export type Signer = (
  request: SignedRequest,
  credentials: Credentials,
  region: string,
  date: Date,
) => Record<string, string>;

const ALGORITHM = 'AWS4-HMAC-SHA256';

/**
 * Makes a signer. The signer caches the key that it derives from the credentials, which is valid for a day.
 *
 * @param service name of the service in signatures
 */
export function makeSigner(service: string): Signer {
  let known = { for: '', key: Buffer.alloc(0) };
  return ({ method, path, headers, body }, credentials, region, date) => {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    const time = timeText(date);
    const day = time.slice(0, 8);
    const keyFor = `${day} ${region} ${accessKeyId} ${secretAccessKey}`;
    if (known.for !== keyFor) known = { for: keyFor, key: signingKey(secretAccessKey, day, region, service) };
    const all: Record<string, string> = {
      ...headers,
      'x-amz-date': time,
      ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
    };
    const names = Object.keys(all).sort();
    const lines = names.map((name) => `${name}:${all[name]}\n`).join('');
    const signed = names.join(';');
    const scope = scopeOf(day, region, service);
    const bodyHash = headers['x-amz-content-sha256'] ?? sha256(body).toString('hex');
    const request = `${method}\n${path}\n\n${lines}\n${signed}\n${bodyHash}`;
    const signature = signatureOf(known.key, time, scope, request);
    all.authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
    return all;
  };
}

/** A GET of `/` on a host, to be signed in its query string. */
export interface PresignedRequest {
  readonly service: string;
  readonly region: string;
  readonly host: string;
  /** Query parameters. Their names must be sorted, and sort before `X-Amz-`. */
  readonly query: Readonly<Record<string, string>>;
  readonly expiresSeconds: number;
}

/** Signs a request in its query string. Returns `host/?query` with the signature. */
export function presign(
  { service, region, host, query, expiresSeconds }: PresignedRequest,
  { accessKeyId, secretAccessKey, sessionToken }: Credentials,
  date: Date,
): string {
  const time = timeText(date);
  const day = time.slice(0, 8);
  const scope = scopeOf(day, region, service);
  const all = {
    ...query,
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `${accessKeyId}/${scope}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(expiresSeconds),
    ...(sessionToken ? { 'X-Amz-Security-Token': sessionToken } : {}),
    'X-Amz-SignedHeaders': 'host',
  };
  const text = Object.entries(all)
    .map(([name, value]) => `${name}=${encodeRfc3986(value)}`)
    .join('&');
  const request = `GET\n/\n${text}\nhost:${host}\n\nhost\n${sha256('').toString('hex')}`;
  const key = signingKey(secretAccessKey, day, region, service);
  return `${host}/?${text}&X-Amz-Signature=${signatureOf(key, time, scope, request)}`;
}

/** Formats a time as `20261121T080000Z`. */
function timeText(date: Date): string {
  return `${date.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

function scopeOf(day: string, region: string, service: string): string {
  return `${day}/${region}/${service}/aws4_request`;
}

function signingKey(secretAccessKey: string, day: string, region: string, service: string) {
  return [day, region, service, 'aws4_request'].reduce(
    (key, part) => hmacSha256(key, Buffer.from(part)),
    Buffer.from(`AWS4${secretAccessKey}`),
  );
}

function signatureOf(key: Uint8Array, time: string, scope: string, request: string): string {
  const text = `${ALGORITHM}\n${time}\n${scope}\n${sha256(request).toString('hex')}`;
  return hmacSha256(key, Buffer.from(text)).toString('hex');
}

/** Encodes text for a URL as encodeURIComponent does, and also encodes the characters `!'()*`. */
export function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(data: string | Uint8Array): Buffer<ArrayBuffer> {
  return hash('sha256', data, 'buffer') as Buffer<ArrayBuffer>;
}

const BLOCK_BYTES = 64;

/**
 * Computes the HMAC-SHA256 of a message (RFC 2104), 32 bytes, from two plain hashes. That takes 2.1 us of CPU time.
 * Node's `createHmac` takes 10.5 us, because it makes a key object and a stream for each message.
 */
export function hmacSha256(secret: Uint8Array, message: Uint8Array): Buffer<ArrayBuffer> {
  const key = secret.length > BLOCK_BYTES ? sha256(secret) : secret;
  const inner = Buffer.alloc(BLOCK_BYTES + message.length);
  const outer = Buffer.alloc(BLOCK_BYTES + 32);
  for (let i = 0; i < BLOCK_BYTES; i++) {
    const byte = key[i] ?? 0;
    inner[i] = byte ^ 0x36;
    outer[i] = byte ^ 0x5c;
  }
  inner.set(message, BLOCK_BYTES);
  outer.set(sha256(inner), BLOCK_BYTES);
  return sha256(outer);
}
