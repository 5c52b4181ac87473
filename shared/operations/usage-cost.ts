import { type CostLine, gbSeconds, line } from '../cost/cost-line';
import { GB, HOURS_OF_MONTH, SHARD_BYTES_PER_SECOND } from '../platform/prices';
import type { Counter } from '../tenancy/counters';

/** A tenant's current bytes in each tier. */
export interface TierBytes {
  /** Redis memory, estimated from a sample of group-windows. */
  readonly hot: number;
  /** Bytes of chunks; exact. */
  readonly warm: number;
  /** Bytes of archive objects; exact. */
  readonly cold: number;
}

export interface UsageOfMonth {
  readonly counts: Readonly<Record<Counter, number>>;
  readonly bytes: TierBytes;
  /** Share of the month that has passed; 1 when the month is over. */
  readonly share: number;
  /** Number of nodes that hold a copy of each shard's data: a primary and its replicas. */
  readonly memoryCopies: number;
}

/**
 * Estimates a tenant's cost in a month, at AWS's prices. This is the cost of the counted usage, and of storage as if
 * today's bytes had been stored for the whole month, or for the part of it that has passed. Excludes
 * costs that tenants share: the smallest cache, empty shards, logs, scheduled functions and data transfer.
 */
export function estimateCost({ counts, bytes, share, memoryCopies }: UsageOfMonth): CostLine[] {
  const hours = HOURS_OF_MONTH * share;
  const functionGbSeconds = gbSeconds(counts.functionMbMs);
  const shardHours = counts.streamBytes / (3600 * SHARD_BYTES_PER_SECOND);
  // DynamoDB rounds the size of a written item up to whole KB, which adds half a KB on average.
  const writeUnits = counts.warmBytesWritten / 1024 + counts.warmItemsWritten / 2;
  return [
    line('API requests', `${counts.requests} at $1.00 a million`, { httpRequest: counts.requests }),
    line('function calls', `${counts.requests} at $0.20 a million`, { invocation: counts.requests }),
    line('function time', `${round(functionGbSeconds)} GB-s of post, query and registry at $0.0000133334`, {
      functionGbSecond: functionGbSeconds,
    }),
    line('stream puts', `${counts.streamUnits} units of 25 KB at $0.014 a million`, {
      streamUnit: counts.streamUnits,
    }),
    line('stream shards', `${round(shardHours)} shard-hours, filled at 1 MB/s, at $0.035`, {
      shardHour: shardHours,
      shardHourExtended: shardHours,
    }),
    line(
      'memory',
      `${bytes.hot} bytes now, ${memoryCopies} copies, for ${round(hours)} h at $0.0264 a GB-h`,
      { memoryGbHour: (bytes.hot / GB) * memoryCopies * hours },
    ),
    line('warm writes', `about ${Math.round(writeUnits)} write units at $0.625 a million`, {
      warmWriteUnit: writeUnits,
    }),
    line('warm storage', `${bytes.warm} bytes now, for ${round(share)} of a month at $0.25 a GB`, {
      warmGbMonth: (bytes.warm / GB) * share,
    }),
    line('archive storage', `${bytes.cold} bytes now, for ${round(share)} of a month at $0.023 a GB`, {
      coldGbMonth: (bytes.cold / GB) * share,
    }),
  ];
}

/**
 * Estimates the bytes stored in a month from those stored today. A month without samples had no bytes in memory,
 * because samples leave memory within hours. A month before the first sample had no bytes at all.
 *
 * @param firstDay first day with samples; undefined when there is none
 */
export function bytesInMonth(
  now: TierBytes,
  month: string,
  samples: number,
  firstDay: string | undefined,
): TierBytes {
  const isBefore = firstDay === undefined || firstDay.slice(0, 7) > month;
  return isBefore && samples === 0
    ? { hot: 0, warm: 0, cold: 0 }
    : { ...now, hot: samples === 0 ? 0 : now.hot };
}

/** Returns the share of a month, such as `2026-11`, that has passed: 0 before it, 1 after it. */
export function shareOfMonth(month: string, nowMs: number): number {
  const start = Date.parse(`${month}-01T00:00:00Z`);
  const first = new Date(start);
  const end = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1);
  return Math.min(1, Math.max(0, (nowMs - start) / (end - start)));
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}
