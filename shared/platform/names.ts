/** Names and limits that both synthesis and the functions use. They are defined once, so that the two cannot differ. */

/** The version of this release, shown by /openapi.json, the page, stack outputs and archive objects. */
export { version as RELEASE } from '../../package.json';

/** Environment variables of the functions. */
export const ENV = {
  /** JSON of {@link RuntimeSettings}, with durations in ms. */
  settings: 'SETTINGS',
  /** Name of the Kinesis stream. */
  stream: 'STREAM_NAME',
  /** Name of the DynamoDB table for chunks. */
  warmTable: 'WARM_TABLE',
  /** Name of the DynamoDB table for everything except chunks. */
  metaTable: 'META_TABLE',
  /** Name of the S3 bucket for the archive, rollups, quarantine and dead letters. */
  bucket: 'BUCKET',
  /** URL of the memory tier, `redis://` or `rediss://`; with `?cluster=true` for cluster mode. */
  redis: 'REDIS_URL',
  /** ARN of the stream, from which a replay's mapping reads. */
  streamArn: 'STREAM_ARN',
  /** Name of the function that reads the stream again for a replay. */
  replayer: 'REPLAYER',
  /** Name of the function that evaluates the queries of rules. */
  query: 'QUERY',
  /** Name of the function that requests the URLs of external monitors. */
  prober: 'PROBER',
  /** URL of the HTTP API. */
  apiUrl: 'API_URL',
} as const;

/** Key and TTL attributes of both tables. */
export const TABLE_KEYS = { partition: 'pk', sort: 'sk', ttl: 'expiresAt' } as const;

/** Kinds of items in the meta table: the first part of a partition key (platform/keys.ts). */
const META_KINDS = [
  'alert-group-settings',
  'alert-logs',
  'alerts',
  'archiving',
  'changes',
  'channels',
  'checks',
  'custom-identifiers',
  'dashboards',
  'directory',
  'downtimes',
  'evaluator',
  'graph-annotations',
  'graph-definitions',
  'group-index',
  'hosts',
  'imports',
  'index',
  'key',
  'keys',
  'layouts',
  'manifest',
  'metadata',
  'metric-metadata',
  'minute',
  'monitor-states',
  'monitors',
  'notification-groups',
  'open-alerts',
  'outbox',
  'receivers',
  'recovery',
  'retention',
  'retired-hosts',
  'rolled',
  'rollups',
  'rule-groups',
  'rule-states',
  'services',
  'silences',
  'sources',
  'tenants',
  'undelivered',
  'usage',
] as const;
export type MetaKind = (typeof META_KINDS)[number];

/** Prefixes of keys in the bucket. */
export const BUCKET_PREFIX = {
  archive: 'archive/',
  rollups: 'rollups/',
  quarantine: 'quarantine/',
  /** Dead letters. Lambda chooses this prefix: its on-failure destination names a bucket, without a prefix. */
  onFailure: 'aws/lambda/',
} as const;

/** The functions. Each has a folder under functions/. */
export const FUNCTIONS = [
  'post',
  'ingester',
  'flusher',
  'archiver',
  'query',
  'registry',
  'page',
  'operator',
  'deleter',
  'importer',
  'replayer',
  'recovery',
  'evaluator',
  'prober',
  'canary',
] as const;
export type FunctionName = (typeof FUNCTIONS)[number];

/**
 * Prefix of the physical names of a stage's stacks, functions, alarms, API, dashboard, budget and cache user.
 */
export function stageName(stage: string): string {
  return `heterotsdb-${stage}`;
}

/** The physical name of a function. Operator commands invoke functions by this name. */
export function functionName(stage: string, name: FunctionName): string {
  return `${stageName(stage)}-${name}`;
}

/** Maximum size of a body, before and after decompression, in bytes. API Gateway and Lambda accept about 4.5 MB. */
export const MAX_REQUEST_BYTES = 4_000_000;

/** Address range of the VPC. Each zone takes a /20 of it. */
export const VPC_RANGE = '10.0.0.0/16';

/** Namespace of the metrics in CloudWatch. */
export const METRIC_NAMESPACE = 'HeteroTSDB';

/** Dimension of metrics that names the function and the stage. Its value is a {@link functionName}. */
export const METRIC_DIMENSION = 'Function';
/** Value of the dimension `service`, the same for every metric. */
export const METRIC_SERVICE = 'heterotsdb';

const INGEST_METRICS = [
  'RecordsDelivered',
  'RecordsFailed',
  'RecordsQuarantined',
  'SamplesAppended',
] as const;

/** Units that AWS bills, and calls to the memory tier, whose nodes AWS bills by the hour. */
export const UNITS = [
  /** The function's memory in MB times its run time in ms, rounded up. */
  'FunctionMbMs',
  /** Put units of the stream, 25 KB each. */
  'PutUnits',
  /** Write units of DynamoDB, 1 KB each. */
  'WriteUnits',
  /** Read units of DynamoDB, 4 KB each. An eventually consistent read takes half a unit. */
  'ReadUnits',
  /** S3 requests that are billed at the price of a PUT. They include lists. */
  'ObjectPuts',
  'ObjectGets',
  'RedisCalls',
] as const;
export type Unit = (typeof UNITS)[number];

/**
 * Number of direct calls to AWS (direct-call.ts) that failed and that the SDK therefore retried. A function publishes
 * this metric only if it is above 0, so a stage without failures does not pay for it.
 */
export const CALLS_REPEATED = 'CallsRepeated';

/**
 * Number of calls to DynamoDB, which AWS bills by units instead. Not a metric, but a field of the log line and of
 * `explain=1`.
 */
export const TABLE_CALLS = 'TableCalls';

/** A quantity that a function counts for its calls to AWS. */
export type CountedUse = Unit | typeof CALLS_REPEATED | typeof TABLE_CALLS;

/**
 * The metrics of each function. Code, alarms and the dashboard use no other names. A metric costs $0.30 a month, so
 * only functions that handle samples have metrics of the units that AWS bills. The statistic SampleCount of
 * FunctionMbMs is the number of invocations.
 */
export const METRICS = {
  post: [
    'SamplesAccepted',
    'SamplesDropped',
    'StringsDropped',
    'LinesRefused',
    'HistogramsDropped',
    'ExemplarsDropped',
    'FunctionMbMs',
    'PutUnits',
    'WriteUnits',
    'ReadUnits',
    CALLS_REPEATED,
  ],
  ingester: [
    ...INGEST_METRICS,
    'FunctionMbMs',
    'WriteUnits',
    'ReadUnits',
    'ObjectPuts',
    'RedisCalls',
    CALLS_REPEATED,
  ],
  replayer: INGEST_METRICS,
  flusher: [
    'WindowsFlushed',
    'SamplesFlushed',
    'ChunkBytesWritten',
    'WindowsExpired',
    'WindowsFailed',
    'HotMemoryPercent',
    'ResidencySeconds',
    'OldestUnflushedSeconds',
    'FunctionMbMs',
    'WriteUnits',
    'ReadUnits',
    'RedisCalls',
    CALLS_REPEATED,
  ],
  archiver: [
    'DaysArchived',
    'DaysFailed',
    'DaysExpired',
    'WarmItemsPurged',
    'ArchiveLagSeconds',
    'SpansRolledUp',
    'SpansLeft',
    'FunctionMbMs',
    'WriteUnits',
    'ReadUnits',
    'ObjectPuts',
    'ObjectGets',
    CALLS_REPEATED,
  ],
  query: [
    'Reads',
    'SamplesRead',
    'ReadWaitMs',
    'FunctionMbMs',
    'WriteUnits',
    'ReadUnits',
    'ObjectGets',
    'RedisCalls',
    CALLS_REPEATED,
  ],
  recovery: ['LossOpen', 'ReplayRunning', 'RecordsRedriven', 'ObjectsNotRedriven'],
  evaluator: ['RuleLagSeconds', 'RulesFailing', 'AlertsUndelivered'],
  canary: ['CanaryAgeSeconds', 'CanaryWrong', 'CanaryGaps'],
  operator: ['FunctionMbMs'],
} as const satisfies Partial<Record<FunctionName, readonly string[]>>;

/**
 * The metrics that essential alarms need. A stage with the setting `monitoring=essential` publishes only
 * these.
 */
export const ESSENTIAL_METRICS: readonly string[] = [
  'RecordsQuarantined',
  'OldestUnflushedSeconds',
  'LossOpen',
  'RuleLagSeconds',
  'RulesFailing',
  'AlertsUndelivered',
  'CanaryAgeSeconds',
  'CanaryWrong',
  'CanaryGaps',
] satisfies MetricName<MeteredFunction>[];

export type MeteredFunction = keyof typeof METRICS;
export type MetricName<F extends MeteredFunction> = (typeof METRICS)[F][number];
