import type { Redis } from 'ioredis';

/** Returns the memory used by a node in bytes. */
export function usedMemory(redis: Redis): Promise<number> {
  return memoryOf(redis, 'used_memory');
}

/** Returns the peak memory of a node in bytes. */
export function peakMemory(redis: Redis): Promise<number> {
  return memoryOf(redis, 'used_memory_peak');
}

/** Returns the number of scripts run by a node. */
export async function scriptCalls(redis: Redis): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

/** @see https://valkey.io/commands/info/ */
async function memoryOf(redis: Redis, field: string): Promise<number> {
  return Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(await redis.info('memory'))![1]);
}
