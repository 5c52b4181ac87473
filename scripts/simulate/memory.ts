import { Redis } from 'ioredis';
import type { Scheduler } from './scheduler';

/** The only key of the simulation itself: the virtual clock, and the primary's identity. */
const STATE = 'simulated:state';
/** When keys expire, in virtual time. */
const EXPIRY = 'simulated:expiry';

/**
 * Lua: a `redis` that tells the virtual time, this simulation's replication id, and virtual times to live.
 * Follows a script's first line.
 */
const PRELUDE = `
local server = redis
local function later(key, ms)
  local time = server.call('HMGET', '${STATE}', 'seconds', 'micros')
  server.call('ZADD', '${EXPIRY}', time[1] * 1000 + ms, key)
end
local redis = { sha1hex = server.sha1hex, pcall = server.pcall, error_reply = server.error_reply, call = function(name, ...)
  if name == 'TIME' then return server.call('HMGET', '${STATE}', 'seconds', 'micros') end
  if name == 'INFO' then return server.call('HGET', '${STATE}', 'info') end
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
 * The memory tier: a real Valkey, whose scripts see the virtual clock. One connection sends every command, one
 * after the other, so the same seed gets the same answers.
 */
export class Memory {
  private readonly redis: Redis;
  private toldMs = -1;

  constructor(
    port: number,
    private readonly scheduler: Scheduler,
    private readonly replicationId: string,
  ) {
    this.redis = new Redis({ host: '127.0.0.1', port });
  }

  /** Defines a script, as a client does. */
  define(name: string, lua: string): void {
    if (name in this.redis) return;
    const [first, ...rest] = lua.split('\n');
    this.redis.defineCommand(name, { lua: [first, PRELUDE, ...rest].join('\n') });
  }

  /** Runs a command. A name that ends in `Buffer` answers bytes in place of texts. */
  async call({ name, args }: Command): Promise<unknown> {
    if (name === 'info') return this.info;
    const { nowMs } = this.scheduler;
    if (name === 'time') return [String(Math.floor(nowMs / 1000)), String((nowMs % 1000) * 1000)];
    if (nowMs !== this.toldMs) {
      this.toldMs = nowMs;
      const [seconds, micros] = [Math.floor(nowMs / 1000), (nowMs % 1000) * 1000];
      void this.redis.hset(STATE, { seconds, micros, info: this.info });
    }
    const method = (this.redis as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>)[name];
    if (method === undefined) throw new Error(`the memory tier has no command ${name}`);
    return method.apply(this.redis, [...args]);
  }

  /** Removes the keys whose time to live has passed. @returns their number */
  async expire(): Promise<number> {
    const keys = await this.redis.zrangebyscore(EXPIRY, '-inf', this.scheduler.nowMs);
    if (keys.length === 0) return 0;
    await this.redis.zrem(EXPIRY, ...keys);
    return this.redis.unlink(...keys);
  }

  keys(): Promise<number> {
    return this.redis.dbsize();
  }

  close(): void {
    this.redis.disconnect();
  }

  private get info(): string {
    return [
      'role:master',
      `run_id:${this.replicationId}`,
      `master_replid:${this.replicationId}`,
      `master_replid2:${'0'.repeat(40)}`,
      'maxmemory:0',
      'used_memory:0',
      '',
    ].join('\r\n');
  }
}
