import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { WORKING } from '../platform/call-time';
import { iamToken } from './iam-token';

/**
 * A client of the memory tier. Callers send single commands only, because an ioredis pipeline fails during a
 * reshard.
 */
export type HotClient = Redis | Cluster;

const COMMON = {
  connectTimeout: 2_000,
  maxRetriesPerRequest: 3,
  // Send a command again if its reply was lost. The retry is safe: appending a frame twice changes nothing
  // (DESIGN.md, rule 2), and the second of two equal trims does nothing (rule 3).
  autoResendUnfulfilledCommands: true,
} satisfies RedisOptions;

/** Time between two attempts to send a command while a hash slot moves or a replica takes over, in ms. */
const RETRY_MS = 100;
/**
 * How often the client refreshes its map of hash slots, in ms. If a primary hangs and a replica takes over from it, the
 * client finds out only at the next refresh.
 */
const SLOTS_REFRESH_MS = 2_000;

/**
 * A cluster client that starts the time-out of a command when the caller passes the command to it. ioredis itself
 * starts the time-out only once the client knows a node to send the command to, so commands to an unreachable cluster
 * would never time out.
 */
class BoundedCluster extends Cluster {
  commandMs: number = WORKING.commandMs;

  override sendCommand(...args: Parameters<Cluster['sendCommand']>): ReturnType<Cluster['sendCommand']> {
    args[0].setTimeout(this.commandMs);
    return super.sendCommand(...args);
  }
}

/**
 * Connects to the memory tier.
 *
 * @param url `redis://host:port`, or `rediss://user@host:port?cluster=true&iam=<replication group>` for TLS,
 *   cluster mode and IAM authentication with the credentials of the environment
 * @param commandMs time-out of a command, including redirections, retries and the wait for a connection, in ms
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
      // Connect by name: TLS certificates have the nodes' names, not their addresses.
      dnsLookup: (address, callback) => callback(null, address),
      redisOptions: options,
      retryDelayOnFailover: RETRY_MS,
      retryDelayOnClusterDown: RETRY_MS,
      retryDelayOnTryAgain: RETRY_MS,
      // High enough that a command times out before it reaches this number of redirections.
      maxRedirections: commandMs / RETRY_MS,
      slotsRefreshTimeout: 1_000,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
    });
    cluster.commandMs = commandMs;
    client = cluster;
  } else {
    client = new Redis({ ...options, host, port, lazyConnect: true });
    // Define the getter after construction: the constructor copies the options, and the copy would keep the first
    // token, which expires.
    if (replicationGroupId !== null) passwordFrom(client.options, token);
    client.connect().catch(() => {});
  }
  // Without a listener for errors, a lost connection would end the process. Each command reports its own
  // failure.
  client.on('error', () => {});
  return client;
}

/**
 * Turns the option `password` into a getter that makes a fresh IAM token for each new connection. A token is
 * valid for 15 minutes, and an instance lives longer. Never copy these options, because a copy keeps one token.
 */
function passwordFrom(options: RedisOptions, token: () => string): void {
  Object.defineProperty(options, 'password', { enumerable: true, configurable: true, get: token });
}
