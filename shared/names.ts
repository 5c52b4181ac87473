/** Names shared by synthesis and run time, in one place so that they cannot drift. */

/** Environment variables of the functions. */
export const ENV = {
  /** JSON of {@link Settings}, durations in ms. */
  settings: 'SETTINGS',
  /** Kinesis stream that acknowledges samples. */
  stream: 'STREAM_NAME',
  /** DynamoDB table of chunks. */
  warmTable: 'WARM_TABLE',
  /** DynamoDB table of everything that is not a chunk. */
  metaTable: 'META_TABLE',
  /** S3 bucket of archive, quarantine and on-failure payloads. */
  bucket: 'BUCKET',
  /** `redis://` or `rediss://` URL of the hot tier; `?cluster=true` for cluster mode. */
  redis: 'REDIS_URL',
  /** ARN of the stream, of which a replay makes a mapping. */
  streamArn: 'STREAM_ARN',
  /** Name of the function that reads the stream a second time. */
  replayer: 'REPLAYER',
  /** Where clients find the HTTP API. */
  apiUrl: 'API_URL',
} as const;

/** Attributes of both tables. */
export const TABLE_KEYS = { partition: 'pk', sort: 'sk', ttl: 'expiresAt' } as const;

/** Prefixes of the bucket. */
export const BUCKET_PREFIX = {
  archive: 'archive/',
  quarantine: 'quarantine/',
  /** Chosen by Lambda: an on-failure destination takes a bucket, no prefix. */
  onFailure: 'aws/lambda/',
} as const;

/** One folder under functions/ each. */
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
  'replayer',
  'recovery',
  'canary',
] as const;
export type FunctionName = (typeof FUNCTIONS)[number];

/** The physical name of a function, by which operator commands invoke it. */
export function functionName(stage: string, name: FunctionName): string {
  return `heterotsdb-${stage}-${name}`;
}

/** The metrics' namespace in CloudWatch. */
export const METRIC_NAMESPACE = 'HeteroTSDB';

/** The dimension that tells functions, and with them stages, apart: the value is {@link functionName}. */
export const METRIC_DIMENSION = 'Function';
/** The other dimension of every metric, which tells nothing apart. */
export const METRIC_SERVICE = 'heterotsdb';

const INGEST_METRICS = [
  'RecordsDelivered',
  'RecordsFailed',
  'RecordsQuarantined',
  'SamplesAppended',
] as const;

/** What each function counts: alarms and dashboard can name nothing else, and the code can count nothing else. */
export const METRICS = {
  post: ['SamplesAccepted', 'SamplesDropped', 'StringsDropped', 'LinesRefused'],
  ingester: INGEST_METRICS,
  replayer: INGEST_METRICS,
  flusher: [
    'WindowsFlushed',
    'SamplesFlushed',
    'ChunkBytesWritten',
    'WindowsFailed',
    'HotMemoryPercent',
    'ResidencySeconds',
    'OldestUnflushedSeconds',
  ],
  archiver: ['DaysArchived', 'DaysFailed', 'WarmItemsPurged', 'ArchiveLagSeconds'],
  query: ['Reads', 'SamplesRead'],
  recovery: ['LossOpen', 'ReplayRunning', 'RecordsRedriven', 'ObjectsNotRedriven'],
  canary: ['CanaryAgeSeconds', 'CanaryWrong', 'CanaryGaps'],
} as const satisfies Partial<Record<FunctionName, readonly string[]>>;

/** A function that counts. */
export type MeteredFunction = keyof typeof METRICS;
/** What it counts. */
export type MetricName<F extends MeteredFunction> = (typeof METRICS)[F][number];
