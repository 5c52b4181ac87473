import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { COMMAND_MS } from '../platform/call-time';
import { iamToken } from './iam-token';

/** What the hot tier needs of a client: single commands only, since an ioredis pipeline does not survive a reshard. */
export type HotClient = Redis | Cluster;

const COMMON = {
  connectTimeout: 2_000,
  commandTimeout: COMMAND_MS,
  maxRetriesPerRequest: 3,
  // A command in doubt is sent again: appends are idempotent (DESIGN.md, rule 2), trims are fenced (rule 3).
  autoResendUnfulfilledCommands: true,
} satisfies RedisOptions;

/** How often a command is sent again while a slot moves or a replica takes over. */
const RETRY_MS = 100;
/** The nodes are asked for their slots, for nobody else says so when a primary hangs and a replica takes over. */
const SLOTS_REFRESH_MS = 2_000;

/**
 * ioredis begins to count a command's time when a node is known to send it to. Here it counts from the start, for a
 * cluster that cannot be reached would hold its commands for ever.
 */
class BoundedCluster extends Cluster {
  override sendCommand(...args: Parameters<Cluster['sendCommand']>): ReturnType<Cluster['sendCommand']> {
    args[0].setTimeout(COMMAND_MS);
    return super.sendCommand(...args);
  }
}

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
  const options: Omit<RedisOptions, 'replyMapping'> = {
    ...COMMON,
    username,
    password: decodeURIComponent(target.password) || undefined,
    ...(target.protocol === 'rediss:' ? { tls: {} } : {}),
  };
  const token = () =>
    iamToken(
      {
        replicationGroupId: replicationGroupId ?? '',
        user: username ?? 'default',
        region: environment.AWS_REGION ?? '',
      },
      {
        accessKeyId: environment.AWS_ACCESS_KEY_ID ?? '',
        secretAccessKey: environment.AWS_SECRET_ACCESS_KEY ?? '',
        sessionToken: environment.AWS_SESSION_TOKEN,
      },
      new Date(),
    );
  let client: HotClient;
  if (target.searchParams.get('cluster') === 'true') {
    if (replicationGroupId !== null) passwordFrom(options, token);
    client = new BoundedCluster([{ host, port }], {
      // TLS certificates bear the nodes' names, so the address is not resolved before connecting.
      dnsLookup: (address, callback) => callback(null, address),
      redisOptions: options,
      retryDelayOnFailover: RETRY_MS,
      retryDelayOnClusterDown: RETRY_MS,
      retryDelayOnTryAgain: RETRY_MS,
      // Not what ends a command: its time is.
      maxRedirections: COMMAND_MS / RETRY_MS,
      slotsRefreshTimeout: 1_000,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
    });
  } else {
    client = new Redis({ ...options, host, port, lazyConnect: true });
    // After construction, which copies the options.
    if (replicationGroupId !== null) passwordFrom(client.options, token);
    client.connect().catch(() => {});
  }
  // Without a listener a lost connection ends the process; each command reports its own failure.
  client.on('error', () => {});
  return client;
}

/**
 * Makes the password a getter: each new connection asks for it, and needs a token of its own, since one is good for 15
 * minutes and an instance lives longer. Never to be spread, which would keep the first token.
 */
function passwordFrom(options: RedisOptions, token: () => string): void {
  Object.defineProperty(options, 'password', { enumerable: true, configurable: true, get: token });
}
