import { type Credentials, presign } from '../platform/signature';

/** How long a token is valid, in seconds. */
const EXPIRES_SECONDS = 900;

/**
 * Returns the password of an ElastiCache user with IAM authentication: a presigned `connect` request, valid
 * for 15 minutes.
 *
 * @see https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/auth-iam.html
 */
export function iamToken(
  { replicationGroupId, user, region }: { replicationGroupId: string; user: string; region: string },
  credentials: Credentials,
  now: Date,
): string {
  const request = {
    service: 'elasticache',
    region,
    host: replicationGroupId.toLowerCase(),
    query: { Action: 'connect', User: user },
    expiresSeconds: EXPIRES_SECONDS,
  };
  return presign(request, credentials, now);
}
