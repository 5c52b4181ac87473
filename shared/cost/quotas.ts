import { SHARD_BYTES_PER_SECOND, SHARD_RECORDS_PER_SECOND } from '../platform/prices';
import { type Demand, demandOf, type Load, SECONDS_OF_MONTH, type Work } from './demand';
import type { MeasuredUnits } from './measured-units';
import { isOnDemand, type StageTemplate } from './stage-cost';

/** How much of a limited resource a load needs. */
export interface QuotaLine {
  readonly what: string;
  /** Amount needed; for a rate, in the busiest second. */
  readonly needs: number;
  readonly limit: number;
  /** Share of the limit that the load needs. If it is above 1, the load does not fit. */
  readonly share: number;
  /** Number of series at which the share would be 1, if nothing else changes. */
  readonly breaksAtSeries: number;
  /** Who can raise the limit: AWS on request, the operator with a setting, or nobody. */
  readonly raisedBy: 'AWS' | 'setting' | 'nobody';
  /** How to raise the limit, or to need less of the resource. */
  readonly remedy: string;
}

/**
 * Default quotas of AWS in a Region, and limits that cannot be raised.
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
  /** Limit of one physical partition of a table. It holds all items of a partition key, until DynamoDB splits it. */
  keyWriteUnitsPerSecond: 1000,
  cacheNodes: 90,
  objectPutsPerSecond: 3500,
  /** Maximum number of lanes that the settings' schema allows. */
  flusherLanes: 32,
} as const;

/** Time planned for writing the archive objects of a UTC day, in seconds. */
const ARCHIVE_SECONDS = 3600;

/**
 * Compares what a load needs with the limits of the stage and of AWS. The line with the largest share of its
 * limit comes first.
 *
 * @param peak ratio of the busiest second to the average second
 * @throws {UnknownCostError}
 */
export function quotas(
  measured: MeasuredUnits,
  load: Load,
  template: StageTemplate,
  peak: number,
): QuotaLine[] {
  const { settings, memoryMb } = template;
  const demand = demandOf(measured, load, template);
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
      concurrency(demand, template, peak),
      settings.accountConcurrency,
      'AWS',
      'quota L-B99A9384, then -c accountConcurrency=',
    ),
    ...(isOnDemand(template)
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
      "ingester's seconds for each second of a shard",
      busySeconds(demand.ingester, memoryMb.ingester, peak) /
        (isOnDemand(template) ? demand.streamShards : Math.max(demand.streamShards, settings.streamShards)),
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
      'deploy another stage',
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

/** Returns the number of instances of post, ingester, flusher and archiver that run in the busiest second. */
function concurrency(
  { post, ingester, flusher, archiver }: Demand,
  template: StageTemplate,
  peak: number,
): number {
  const { memoryMb } = template;
  return (
    busySeconds(post, memoryMb.post, peak) +
    busySeconds(ingester, memoryMb.ingester, peak) +
    busySeconds(flusher, memoryMb.flusher, peak) +
    busySeconds(archiver, memoryMb.archiver, peak)
  );
}

/**
 * Returns a function's total run time per second in the busiest second, which equals the number of its
 * instances that run concurrently.
 */
function busySeconds({ mbMs }: Work, memoryMb: number, peak: number): number {
  return (peak * mbMs) / memoryMb / 1000 / SECONDS_OF_MONTH;
}
