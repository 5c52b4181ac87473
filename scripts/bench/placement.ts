import { createHash } from 'node:crypto';
import keySlot from 'cluster-key-slot';
import { advisePartitions } from '../../shared/cost/partition-advice';
import { HotKeys } from '../../shared/hot/hot-keys';
import { partitionOf, sourceIdOf, tenantIdOf } from '../../shared/model/placement';
import { partitionKeyOf } from '../../shared/stream/outgoing';
import { bench } from './frame/bench';
import { count, number } from './frame/options';

export interface PlacementOptions {
  readonly tenants: number;
  readonly series: number;
  readonly streamShards: number;
  readonly cacheShards: number;
  readonly skew: number;
}

interface Row {
  /**
   * The number of partitions of each tenant. `born`: 8, as a new tenant has; `advised`: as `ops tenants
   * advise` recommends.
   */
  readonly partitions: 'born' | 'advised';
  readonly partitionCount: number;
  readonly over: 'stream shards' | 'cache shards';
  readonly shards: number;
  /**
   * Loads relative to the mean of the shards: of the fullest shard, of the 99th percentile, and of the
   * hottest partition.
   */
  readonly max: number;
  readonly p99: number;
  readonly hottest: number;
}

/**
 * Series of a host, and the bytes per second that it puts into the stream: a sample of each series per
 * minute, 15 bytes per sample (`npm run bench -- units`).
 */
const SERIES_OF_SOURCE = 100;
const BYTES_PER_SECOND = (SERIES_OF_SOURCE * 15) / 60;
const BORN = 8;
const SLOTS = 16_384;

export const placement = bench({
  name: 'placement',
  summary: 'how evenly partitions are spread over stream and cache shards',
  description:
    "Places the partitions of tenants of very different sizes (Zipf's law) over stream shards and cache shards, as Kinesis and a " +
    'Valkey cluster do. Prints how uneven the loads are, before and after tenants have the numbers of partitions that `ops tenants ' +
    'advise` recommends.',
  options: {
    tenants: count('tenants', 10_000),
    series: count('series of all tenants, 100 a source', 100_000_000),
    streamShards: count('stream shards', 64),
    cacheShards: count('cache shards', 8),
    skew: number("exponent of Zipf's law: 0 makes all tenants equal", 1),
  },
  run: async (options) => placementRows(options),
});

export function placementRows(options: PlacementOptions): Row[] {
  const sources = sourcesOfTenants(options);
  const peakBytes = (count: number) => count * BYTES_PER_SECOND * 86_400;
  const advised = sources.map(
    (count) => advisePartitions(BORN, { streamBytes: peakBytes(count), warmBytesWritten: 0 }).advised,
  );
  return (['born', 'advised'] as const).flatMap((partitions) => {
    const loads = loadsOf(sources, partitions === 'born' ? sources.map(() => BORN) : advised);
    const over = (name: Row['over'], shards: number, shardOf: (load: PartitionLoad) => number): Row => ({
      partitions,
      partitionCount: loads.length,
      over: name,
      shards,
      ...spread(loads, shards, shardOf),
    });
    return [
      over('stream shards', options.streamShards, ({ streamKey }) =>
        streamShardOf(streamKey, options.streamShards),
      ),
      over('cache shards', options.cacheShards, ({ cacheKey }) =>
        Math.floor((keySlot(cacheKey) * options.cacheShards) / SLOTS),
      ),
    ];
  });
}

/** Returns the number of sources of each tenant, at least one, the largest tenant first. */
function sourcesOfTenants({ tenants, series, skew }: PlacementOptions): number[] {
  const weights = Array.from({ length: tenants }, (_, rank) => 1 / (rank + 1) ** skew);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => Math.max(1, Math.round((weight / total) * (series / SERIES_OF_SOURCE))));
}

interface PartitionLoad {
  readonly streamKey: string;
  readonly cacheKey: string;
  readonly bytesPerSecond: number;
}

/** Returns the load of every partition that has any. Each source is placed by its own id. */
function loadsOf(sources: readonly number[], partitions: readonly number[]): PartitionLoad[] {
  return sources.flatMap((count, tenant) => {
    const tenantId = tenantIdOf(`tenant-${tenant}`);
    const counts = new Map<number, number>();
    for (let i = 0; i < count; i++) {
      const partition = partitionOf(sourceIdOf(tenantId, [['host', `host-${i}`]]), partitions[tenant]!);
      counts.set(partition, (counts.get(partition) ?? 0) + 1);
    }
    return [...counts].map(([partition, held]) => ({
      streamKey: partitionKeyOf({ tenantId, partition }),
      cacheKey: new HotKeys({ tenantId, partition }).due,
      bytesPerSecond: held * BYTES_PER_SECOND,
    }));
  });
}

/**
 * Returns the shard of a partition key, for shards that divide the range of MD5 evenly.
 *
 * @see https://docs.aws.amazon.com/streams/latest/dev/key-concepts.html
 */
function streamShardOf(partitionKey: string, shards: number): number {
  const head = createHash('md5').update(partitionKey).digest().readUInt32BE(0);
  return Math.floor((head * shards) / 2 ** 32);
}

function spread(
  loads: readonly PartitionLoad[],
  shards: number,
  shardOf: (load: PartitionLoad) => number,
): Pick<Row, 'max' | 'p99' | 'hottest'> {
  const held = new Float64Array(shards);
  let hottest = 0;
  for (const load of loads) {
    held[shardOf(load)]! += load.bytesPerSecond;
    hottest = Math.max(hottest, load.bytesPerSecond);
  }
  const mean = held.reduce((sum, bytes) => sum + bytes, 0) / shards;
  const sorted = held.toSorted();
  return {
    max: sorted.at(-1)! / mean,
    p99: sorted[Math.floor(0.99 * (shards - 1))]! / mean,
    hottest: hottest / mean,
  };
}
