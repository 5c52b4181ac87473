import { type Demand, demandOf, type Load, SECONDS_OF_MONTH, type Work } from './demand';
import type { MeasuredUnits } from './measured-units';
import { SHARD_BYTES_PER_SECOND, SHARD_RECORDS_PER_SECOND } from './prices';
import { isOnDemand, type StageShape } from './stage-cost';

/** What a load needs of something limited. */
export interface QuotaLine {
  readonly what: string;
  /** At the busiest second, where it is a rate. */
  readonly needs: number;
  readonly limit: number;
  /** Part of the limit that is needed; above 1, the load does not fit. */
  readonly share: number;
  /** Series at which the share is 1, all else alike. */
  readonly breaksAtSeries: number;
  /** Who can raise the limit: AWS when asked, the operator by a setting, nobody. */
  readonly raisedBy: 'AWS' | 'setting' | 'nobody';
  /** What to do about it. */
  readonly remedy: string;
}

/**
 * Default quotas of a Region, and limits that nobody raises.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 * @see https://docs.aws.amazon.com/streams/latest/dev/service-sizes-and-limits.html
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
 * @see https://docs.aws.amazon.com/AmazonElastiCache/latest/dg/quota-limits.html
 * @see https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html
 */
const LIMIT = {
  apiRequestsPerSecond: 10_000,
  streamShards: 500,
  onDemandBytesPerSecond: 200e6,
  tableUnitsPerSecond: 40_000,
  /** Of one partition of a table, which holds a partition key's items until it is split. */
  keyWriteUnitsPerSecond: 1000,
  cacheNodes: 90,
  objectPutsPerSecond: 3500,
  /** Lanes that the schema of the settings allows. */
  flusherLanes: 32,
} as const;

/** Time within which the objects of a UTC day are planned to be put. */
const ARCHIVE_SECONDS = 3600;

/**
 * Compares what a load needs with the limits of the stage and of AWS, the nearest to its limit first.
 *
 * @param peak the busiest second over the mean
 * @throws {UnknownCostError}
 */
export function quotas(measured: MeasuredUnits, load: Load, shape: StageShape, peak: number): QuotaLine[] {
  const { settings, memoryMb } = shape;
  const demand = demandOf(measured, load, shape);
  const busiest = (perMonth: number) => (peak * perMonth) / SECONDS_OF_MONTH;
  const partitions = load.tenants * settings.partitions;
  const seriesOfTenant = load.series / load.tenants;
  const limited = (
    what: string,
    needs: number,
    limit: number,
    raisedBy: QuotaLine['raisedBy'],
    remedy: string,
  ): QuotaLine => ({
    what,
    needs,
    limit,
    share: needs / limit,
    breaksAtSeries: (load.series * limit) / needs,
    raisedBy,
    remedy,
  });
  const lines = [
    limited(
      'API requests a second, of the account',
      busiest(demand.requests),
      LIMIT.apiRequestsPerSecond,
      'AWS',
      'larger requests, or the API Gateway quota Throttle rate',
    ),
    limited(
      'API requests a second, of the stage',
      busiest(demand.requests),
      settings.requestsPerSecond,
      'setting',
      '-c requestsPerSecond=, with requestBurst',
    ),
    limited(
      'concurrent executions',
      concurrency(demand, shape, peak),
      settings.accountConcurrency,
      'AWS',
      'quota L-B99A9384, then -c accountConcurrency=',
    ),
    ...(isOnDemand(shape)
      ? [
          limited(
            'stream bytes a second, on demand',
            busiest(demand.streamBytes),
            LIMIT.onDemandBytesPerSecond,
            'AWS',
            'the Kinesis quota of streams on demand',
          ),
        ]
      : [
          limited(
            'stream shards, of the stage',
            demand.streamShards,
            settings.streamShards,
            'setting',
            '-c streamShards=, or streamMode=on-demand; planned half full',
          ),
          limited(
            'stream shards, of the account',
            demand.streamShards,
            LIMIT.streamShards,
            'AWS',
            'the Kinesis quota of shards',
          ),
        ]),
    limited(
      "ingester's seconds in a second of a shard",
      busySeconds(demand.ingester, memoryMb.ingester, peak) /
        (isOnDemand(shape) ? demand.streamShards : Math.max(demand.streamShards, settings.streamShards)),
      1,
      'setting',
      '-c streamShards=: one batch of a shard runs at a time',
    ),
    limited(
      'stream bytes a second of a partition',
      busiest(demand.streamBytes) / partitions,
      SHARD_BYTES_PER_SECOND,
      'setting',
      'ops tenants set NAME --partitions N',
    ),
    limited(
      'stream records a second of a partition',
      busiest(demand.records) / partitions,
      SHARD_RECORDS_PER_SECOND,
      'setting',
      'ops tenants set NAME --partitions N, or larger requests',
    ),
    limited(
      'cache shards',
      demand.cacheShards,
      settings.cacheShards,
      'setting',
      '-c cacheNodeType= or cacheShards=; half of the memory is kept free',
    ),
    limited(
      'cache nodes of a cluster',
      demand.cacheShards * (settings.cacheReplicas + 1),
      LIMIT.cacheNodes,
      'AWS',
      'larger nodes, or the ElastiCache quota, up to 500',
    ),
    limited(
      'table write units a second',
      busiest(demand.writeUnits),
      LIMIT.tableUnitsPerSecond,
      'AWS',
      'the DynamoDB quota of a table, or a longer window',
    ),
    limited(
      'table read units a second',
      busiest(demand.readUnits),
      LIMIT.tableUnitsPerSecond,
      'AWS',
      'the DynamoDB quota of a table',
    ),
    limited(
      'write units a second of a partition',
      busiest(demand.writeUnits) / partitions,
      LIMIT.keyWriteUnitsPerSecond,
      'setting',
      'ops tenants set NAME --partitions N',
    ),
    limited(
      'flushers busy at a time',
      busySeconds(demand.flusher, memoryMb.flusher, peak),
      settings.flusherLanes,
      'setting',
      `-c flusherLanes=, at most ${LIMIT.flusherLanes}`,
    ),
    limited(
      "archiver's hours a day, one at a time",
      24 * busySeconds(demand.archiver, memoryMb.archiver, 1),
      24,
      'nobody',
      'a stage more',
    ),
    limited(
      'archive objects put a second, within an hour of a day',
      partitions / ARCHIVE_SECONDS,
      LIMIT.objectPutsPerSecond,
      'nobody',
      'fewer partitions',
    ),
    limited(
      'series of a tenant',
      seriesOfTenant,
      settings.maxSeries,
      'setting',
      'ops tenants set NAME --limit series=N',
    ),
    limited(
      'samples a minute of a tenant',
      (seriesOfTenant * 60_000) / load.intervalMs,
      settings.maxSamplesPerMinute,
      'setting',
      'ops tenants set NAME --limit samplesPerMinute=N',
    ),
  ];
  return lines.sort((a, b) => b.share - a.share);
}

/** Instances that run at the busiest second: posts, ingesters, flushers, archivers. */
function concurrency({ post, ingester, flusher, archiver }: Demand, shape: StageShape, peak: number): number {
  const { memoryMb } = shape;
  return (
    busySeconds(post, memoryMb.post, peak) +
    busySeconds(ingester, memoryMb.ingester, peak) +
    busySeconds(flusher, memoryMb.flusher, peak) +
    busySeconds(archiver, memoryMb.archiver, peak)
  );
}

/** Seconds that a function's instances work in one second. */
function busySeconds({ mbMs }: Work, memoryMb: number, peak: number): number {
  return (peak * mbMs) / memoryMb / 1000 / SECONDS_OF_MONTH;
}
