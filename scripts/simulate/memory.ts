import { Redis } from 'ioredis';
import type { Scheduler } from './scheduler';

/** Key of the simulated primary's identity, which the server gives when asked about itself. */
const INFO = 'simulated:info';
/** Key of the virtual times at which keys expire. */
const EXPIRY = 'simulated:expiry';

/**
 * Lua that is inserted after the first line of each script. Its variable `redis` gives the script the virtual time
 * (from the last two arguments), the replication id of the simulated primary, and times to live in virtual time.
 */
const PRELUDE = `
local server = redis
local micros, seconds = table.remove(ARGV), table.remove(ARGV)
local function later(key, ms) server.call('ZADD', '${EXPIRY}', seconds * 1000 + ms, key) end
local redis = { sha1hex = server.sha1hex, pcall = server.pcall, error_reply = server.error_reply, call = function(name, ...)
  if name == 'TIME' then return { seconds, micros } end
  if name == 'INFO' then return server.call('GET', '${INFO}') end
  local given = {...}
  if name == 'PEXPIRE' then
    if server.call('EXISTS', given[1]) == 0 then return 0 end
    later(given[1], given[2])
    return 1
  end
  if name == 'SET' and given[3] == 'PX' then
    later(given[1], given[4])
    return server.call('SET', given[1], given[2])
  end
  return server.call(name, ...)
end }
`;

export interface Command {
  readonly name: string;
  readonly args: readonly unknown[];
}

/**
 * The memory tier: a real Valkey, whose scripts see the virtual clock. All commands go through a single connection, one
 * at a time, so that the same seed gets the same responses.
 */
export class Memory {
  private readonly redis: Redis;
  private readonly scripts = new Set<string>();
  private primary: string;
  private previous = '0'.repeat(40);
  private isDown = false;

  /**
   * @param socket path of the server's socket
   * @param newId makes the replication id of a primary
   */
  constructor(
    socket: string,
    private readonly scheduler: Scheduler,
    private readonly newId: () => string,
  ) {
    this.primary = newId();
    this.redis = new Redis({ path: socket });
    void this.redis.set(INFO, this.info);
  }

  /**
   * Ends the primary. After a while, another primary takes over.
   *
   * @param lagMs lag of the replica; undefined if there is no replica, so that everything is lost
   */
  failover(lagMs: number | undefined, downMs: number): Promise<void> {
    const { scheduler } = this;
    return new Promise((resolve) => {
      // The replica has all commands up to now. It lacks the commands between now and the end of the primary.
      scheduler.after(0, async () => {
        const copy = lagMs === undefined ? [] : await this.copy();
        scheduler.after(lagMs ?? 0, () => {
          this.isDown = true;
        });
        scheduler.after((lagMs ?? 0) + downMs, async () => {
          await this.redis.flushall();
          for (const [key, dump] of copy) await this.redis.restore(key, 0, dump);
          this.previous = lagMs === undefined ? '0'.repeat(40) : this.primary;
          this.primary = this.newId();
          await this.redis.set(INFO, this.info);
          this.isDown = false;
          resolve();
        });
      });
    });
  }

  private async copy(): Promise<[string, Buffer][]> {
    const copy: [string, Buffer][] = [];
    for (const key of (await this.redis.keys('*')).sort()) copy.push([key, await this.redis.dumpBuffer(key)]);
    return copy;
  }

  /** Defines a Lua script, as a client does. */
  define(name: string, lua: string): void {
    if (name in this.redis) return;
    for (const each of [name, `${name}Buffer`]) this.scripts.add(each);
    const [first, ...rest] = lua.split('\n');
    this.redis.defineCommand(name, { lua: [first, PRELUDE, ...rest].join('\n') });
  }

  /** Runs a command. If its name ends in `Buffer`, the reply has bytes instead of strings. */
  async call({ name, args }: Command): Promise<unknown> {
    if (this.isDown) throw new Error('Connection is closed.');
    if (name === 'info') return this.info;
    const { nowMs } = this.scheduler;
    const [seconds, micros] = [Math.floor(nowMs / 1000), (nowMs % 1000) * 1000];
    if (name === 'time') return [String(seconds), String(micros)];
    const method = (this.redis as unknown as Record<string, (...given: unknown[]) => unknown>)[name];
    if (method === undefined) throw new Error(`the memory tier has no command ${name}`);
    return method.apply(this.redis, this.scripts.has(name) ? [...args, seconds, micros] : [...args]);
  }

  /** Removes the keys whose time to live is over. @returns their number */
  async expire(): Promise<number> {
    const keys = await this.redis.zrangebyscore(EXPIRY, '-inf', this.scheduler.nowMs);
    if (keys.length === 0) return 0;
    await this.redis.zrem(EXPIRY, ...keys);
    return this.redis.unlink(...keys);
  }

  /** Returns all keys except the simulation's own. */
  async keys(): Promise<readonly string[]> {
    return (await this.redis.keys('*')).filter((key) => !key.startsWith('simulated:')).sort();
  }

  /** Returns the number of bytes that the server has allocated. */
  async usedBytes(): Promise<number> {
    return Number(/^used_memory:(\d+)/m.exec(await this.redis.info('memory'))?.[1]);
  }

  /** Returns the fields of a hash. */
  fields(key: string): Promise<Record<string, string>> {
    return this.redis.hgetall(key);
  }

  close(): void {
    this.redis.disconnect();
  }

  private get info(): string {
    return [
      'role:master',
      `run_id:${this.primary}`,
      `master_replid:${this.primary}`,
      `master_replid2:${this.previous}`,
      'maxmemory:0',
      'used_memory:0',
      '',
    ].join('\r\n');
  }
}
