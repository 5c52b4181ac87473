import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { WORKING } from '../platform/call-time';
import { iamToken } from './iam-token';

/** A client of the hot tier. It sends single commands only: an ioredis pipeline does not survive a reshard. */
export type HotClient = Redis | Cluster;

const COMMON = {
  connectTimeout: 2_000,
  maxRetriesPerRequest: 3,
  // A command in doubt is sent again: appends are idempotent (DESIGN.md, rule 2), trims are fenced (rule 3).
  autoResendUnfulfilledCommands: true,
} satisfies RedisOptions;

/** Between two attempts to send a command while a slot moves or a replica takes over, ms. */
const RETRY_MS = 100;
/** The client asks the nodes for their slots this often, ms: nobody tells it when a primary hangs and a replica takes over. */
const SLOTS_REFRESH_MS = 2_000;

/**
 * ioredis counts a command's time from when it knows a node to send it to. Here it counts from the start: otherwise a
 * cluster that cannot be reached would hold its commands for ever.
 */
class BoundedCluster extends Cluster {
  commandMs: number = WORKING.commandMs;

  override sendCommand(...args: Parameters<Cluster['sendCommand']>): ReturnType<Cluster['sendCommand']> {
    args[0].setTimeout(this.commandMs);
    return super.sendCommand(...args);
  }
}

/**
 * Opens the hot tier.
 *
 * @param url `redis://host:port`, or `rediss://user@host:port?cluster=true&iam=<replication group>` for TLS,
 *   cluster mode and IAM authentication with the credentials of the environment
 * @param commandMs after which a command fails, with all its redirections, retries and waiting for a connection
 */
export function connectHot(
  url: string,
  environment: NodeJS.ProcessEnv = process.env,
  commandMs: number = WORKING.commandMs,
): HotClient {
  const target = new URL(url);
  const host = target.hostname;
  const port = Number(target.port || 6379);
  const username = decodeURIComponent(target.username) || undefined;
  const replicationGroupId = target.searchParams.get('iam');
  const options: Omit<RedisOptions, 'replyMapping'> = {
    ...COMMON,
    commandTimeout: commandMs,
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
    const cluster = new BoundedCluster([{ host, port }], {
      // TLS certificates bear the nodes' names, so the address is not resolved before connecting.
      dnsLookup: (address, callback) => callback(null, address),
      redisOptions: options,
      retryDelayOnFailover: RETRY_MS,
      retryDelayOnClusterDown: RETRY_MS,
      retryDelayOnTryAgain: RETRY_MS,
      // So many that its time ends a command first.
      maxRedirections: commandMs / RETRY_MS,
      slotsRefreshTimeout: 1_000,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
    });
    cluster.commandMs = commandMs;
    client = cluster;
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
 * Makes the password a getter, as each new connection needs a token of its own: one is valid for 15 minutes, and an
 * instance lives longer. Never spread these options: that would keep the first token.
 */
function passwordFrom(options: RedisOptions, token: () => string): void {
  Object.defineProperty(options, 'password', { enumerable: true, configurable: true, get: token });
}
