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

/** The physical name of a stage: its stacks, functions, alarms, API, dashboard, budget and cache user begin with it. */
export function stageName(stage: string): string {
  return `heterotsdb-${stage}`;
}

/** The physical name of a function, by which operator commands invoke it. */
export function functionName(stage: string, name: FunctionName): string {
  return `${stageName(stage)}-${name}`;
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

/** What AWS bills, and calls of the store that is billed by the hour. */
export const UNITS = [
  /** Memory of the function times its time in ms begun. */
  'FunctionMbMs',
  /** Of 25 KB, into the stream. */
  'PutUnits',
  /** Of 1 KB, into DynamoDB. */
  'WriteUnits',
  /** Of 4 KB, out of DynamoDB; half of one where a read is not consistent. */
  'ReadUnits',
  /** Requests of S3 at the price of PUT, lists among them. */
  'ObjectPuts',
  'ObjectGets',
  'RedisCalls',
] as const;
export type Unit = (typeof UNITS)[number];

/**
 * What each function counts: alarms and dashboard can name nothing else, and the code can count nothing else. Each is a custom
 * metric of $0.30 a month, so units have one where samples pass and not everywhere. How often a function ran is
 * the SampleCount of FunctionMbMs.
 */
export const METRICS = {
  post: [
    'SamplesAccepted',
    'SamplesDropped',
    'StringsDropped',
    'LinesRefused',
    'FunctionMbMs',
    'PutUnits',
    'WriteUnits',
    'ReadUnits',
  ],
  ingester: [...INGEST_METRICS, 'FunctionMbMs', 'WriteUnits', 'ReadUnits', 'ObjectPuts', 'RedisCalls'],
  replayer: INGEST_METRICS,
  flusher: [
    'WindowsFlushed',
    'SamplesFlushed',
    'ChunkBytesWritten',
    'WindowsFailed',
    'HotMemoryPercent',
    'ResidencySeconds',
    'OldestUnflushedSeconds',
    'FunctionMbMs',
    'WriteUnits',
    'ReadUnits',
    'RedisCalls',
  ],
  archiver: [
    'DaysArchived',
    'DaysFailed',
    'WarmItemsPurged',
    'ArchiveLagSeconds',
    'FunctionMbMs',
    'WriteUnits',
    'ReadUnits',
    'ObjectPuts',
    'ObjectGets',
  ],
  query: ['Reads', 'SamplesRead', 'FunctionMbMs', 'WriteUnits', 'ReadUnits', 'ObjectGets', 'RedisCalls'],
  recovery: ['LossOpen', 'ReplayRunning', 'RecordsRedriven', 'ObjectsNotRedriven'],
  canary: ['CanaryAgeSeconds', 'CanaryWrong', 'CanaryGaps'],
  operator: ['FunctionMbMs'],
} as const satisfies Partial<Record<FunctionName, readonly string[]>>;

/** A function that counts. */
export type MeteredFunction = keyof typeof METRICS;
/** What it counts. */
export type MetricName<F extends MeteredFunction> = (typeof METRICS)[F][number];
