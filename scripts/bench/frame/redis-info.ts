import type { Redis } from 'ioredis';

/** Returns the memory used by a node in bytes. */
export function usedMemory(redis: Redis): Promise<number> {
  return infoOf(redis, 'memory', 'used_memory');
}

/** Returns the peak memory of a node in bytes. */
export function peakMemory(redis: Redis): Promise<number> {
  return infoOf(redis, 'memory', 'used_memory_peak');
}

/** Returns the number of scripts run by a node. */
export async function scriptCalls(redis: Redis): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

/** @see https://valkey.io/commands/info/ */
async function infoOf(redis: Redis, section: string, field: string): Promise<number> {
  return Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.info(section))![1]);
}
