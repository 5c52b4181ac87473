import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { iamToken } from './iam-token';

/** What the hot tier needs of a client: single commands only, since an ioredis pipeline does not survive a reshard. */
export type HotClient = Redis | Cluster;

/**
 * Retries end well inside the shortest function timeout that uses the hot tier (query, 29 s): a command waits at
 * most 5 s for its reply, a connection 2 s, and a failover of up to 20 s is ridden out by the redirections.
 */
const COMMON = {
  connectTimeout: 2_000,
  commandTimeout: 5_000,
  maxRetriesPerRequest: 3,
  // A command in doubt is sent again: appends are idempotent (design.md, rule 2), trims are fenced (rule 3).
  autoResendUnfulfilledCommands: true,
} satisfies RedisOptions;

/**
 * Opens the hot tier.
 *
 * @param url `redis://host:port`, or `rediss://user@host:port?cluster=true&iam=<replication group>` for TLS,
 *   cluster mode and IAM authentication with the credentials of the environment
 */
export function connectHot(url: string, environment: NodeJS.ProcessEnv = process.env): HotClient {
  const target = new URL(url);
  const host = target.hostname;
  const port = Number(target.port || 6379);
  const username = decodeURIComponent(target.username) || undefined;
  const replicationGroupId = target.searchParams.get('iam');
  const options: RedisOptions = {
    ...COMMON,
    username,
    ...(target.protocol === 'rediss:' ? { tls: {} } : {}),
    ...(replicationGroupId !== null
      ? {
          // A getter: each new connection needs a token of its own, an old one has expired.
          get password() {
            return iamToken(
              { replicationGroupId, user: username ?? 'default', region: environment.AWS_REGION ?? '' },
              {
                accessKeyId: environment.AWS_ACCESS_KEY_ID ?? '',
                secretAccessKey: environment.AWS_SECRET_ACCESS_KEY ?? '',
                sessionToken: environment.AWS_SESSION_TOKEN,
              },
              new Date(),
            );
          },
        }
      : { password: decodeURIComponent(target.password) || undefined }),
  };
  const client =
    target.searchParams.get('cluster') === 'true'
      ? new Cluster([{ host, port }], {
          // TLS certificates bear the nodes' names, so the address is not resolved before connecting.
          dnsLookup: (address, callback) => callback(null, address),
          redisOptions: options,
          retryDelayOnFailover: 250,
          maxRedirections: 80,
          slotsRefreshTimeout: 2_000,
        })
      : new Redis({ ...options, host, port });
  // Without a listener a lost connection ends the process; each command reports its own failure.
  client.on('error', () => {});
  return client;
}
