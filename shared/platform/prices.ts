/**
 * Prices in dollars for us-east-1, without free tiers and volume discounts.
 *
 * @see the services' price pages, as of November 2026
 */
export const PRICE = {
  httpRequest: 1.0 / 1e6,
  invocation: 0.2 / 1e6,
  /** A GB-second of a function on Arm. */
  functionGbSecond: 0.0000133334,
  streamUnit: 0.014 / 1e6,
  /** A shard of a provisioned stream. It accepts 1 MB or 1,000 records a second. */
  shardHour: 0.015,
  /** Extra price for a retention above one day and up to seven. */
  shardHourExtended: 0.02,
  /**
   * An on-demand stream: an hour of it, a GB put into it (records rounded up to 1 KB), a GB read from it, and a GB kept
   * for a month beyond the first day.
   */
  streamHour: 0.04,
  streamGbIn: 0.08,
  streamGbOut: 0.04,
  streamGbMonth: 0.1,
  warmWriteUnit: 0.625 / 1e6,
  warmReadUnit: 0.125 / 1e6,
  warmGbMonth: 0.25,
  /** A GB that point-in-time recovery covers for a month. */
  recoveryGbMonth: 0.2,
  coldGbMonth: 0.023,
  objectPut: 5 / 1e6,
  objectGet: 0.4 / 1e6,
  /** Derived from the price of a cache.m7g.large. Three quarters of its 6.38 GB are usable. */
  memoryGbHour: 0.1264 / (6.38 * 0.75),
  /** A custom metric that is published in every hour of a month. */
  metricMonth: 0.3,
  /** A month of a metric that an alarm watches. */
  alarmMetricMonth: 0.1,
  dashboardMonth: 3,
  logGb: 0.5,
  trace: 5 / 1e6,
  /** Transfer to the internet; inbound is free. */
  transferOutGb: 0.09,
  /** Transfer between availability zones, both directions together. */
  transferZoneGb: 0.02,
} as const;
export type Price = keyof typeof PRICE;

export const GB = 1e9;
export const HOURS_OF_MONTH = 730;
export const SHARD_BYTES_PER_SECOND = 1e6;
export const SHARD_RECORDS_PER_SECOND = 1_000;

/** On-demand Valkey nodes: memory in GB, dollars per hour. */
export const CACHE_NODES: Readonly<Record<string, { readonly memoryGb: number; readonly hour: number }>> = {
  'cache.t4g.micro': { memoryGb: 0.5, hour: 0.0128 },
  'cache.t4g.small': { memoryGb: 1.37, hour: 0.0256 },
  'cache.t4g.medium': { memoryGb: 3.09, hour: 0.052 },
  'cache.m7g.large': { memoryGb: 6.38, hour: 0.1264 },
  'cache.m7g.xlarge': { memoryGb: 12.93, hour: 0.252 },
  'cache.r7g.large': { memoryGb: 13.07, hour: 0.1752 },
  'cache.r7g.xlarge': { memoryGb: 26.32, hour: 0.3496 },
};

/** List prices of other services per billion samples. */
export const OTHERS = [
  { name: 'Amazon Managed Prometheus', dollarsPerBillion: 38 },
  { name: 'Grafana Cloud', dollarsPerBillion: 147 },
  { name: 'CloudWatch', dollarsPerBillion: 1470 },
] as const;
