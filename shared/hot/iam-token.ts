import { createHash, createHmac } from 'node:crypto';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * The password of an IAM-authenticated cache user: a presigned `connect` request, valid 15 minutes.
 *
 * By hand and synchronous (Signature Version 4, query form), because ioredis asks for the password of each new
 * connection synchronously and the SDK's signer only answers later.
 *
 * @see https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/auth-iam.html
 */
export function iamToken(
  target: { replicationGroupId: string; user: string; region: string },
  credentials: Credentials,
  now: Date,
): string {
  const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/${target.region}/elasticache/aws4_request`;
  const query = new Map([
    ['Action', 'connect'],
    ['User', target.user],
    ['X-Amz-Algorithm', 'AWS4-HMAC-SHA256'],
    ['X-Amz-Credential', `${credentials.accessKeyId}/${scope}`],
    ['X-Amz-Date', time],
    ['X-Amz-Expires', '900'],
    ...(credentials.sessionToken ? [['X-Amz-Security-Token', credentials.sessionToken] as const] : []),
    ['X-Amz-SignedHeaders', 'host'],
  ]);
  const canonicalQuery = [...query].map(([name, value]) => `${name}=${encodeRfc3986(value)}`).join('&');
  const host = target.replicationGroupId.toLowerCase();
  const request = ['GET', '/', canonicalQuery, `host:${host}\n`, 'host', sha256('')].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n');
  const key = [...scope.split('/')].reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  return `${host}/?${canonicalQuery}&X-Amz-Signature=${hmac(key, toSign).toString('hex')}`;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
