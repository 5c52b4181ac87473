import type { Id } from '../model/id';
import {
  type Day,
  GROUP_ID_LENGTH,
  type GroupId,
  type PartitionRef,
  partitionText,
  sourceIdOfGroup,
} from '../model/placement';
import { BUCKET_PREFIX } from './names';

/**
 * Makes every key of the tables and the bucket; hot/hot-keys.ts makes the keys of memory. No key contains bytes that
 * a user chose (DESIGN.md, rule 7). `tenant`, `source` and `layout` are ids of 22 characters, `group` is an id of
 * 27, `partition` has four digits, and times are Unix times in ms.
 *
 * DynamoDB, the warm table. Times have 15 digits, layers 4, so that text sorts as numbers do:
 *
 *     pk tenant#partition#day          sk group#window#layer#start      a chunk
 *                                      sk ~divided                      whether a window of the day has several chunks
 *
 * DynamoDB, the meta table. The second part of `pk` is the tenant, except under `key`, `tenants`,
 * `retention`, `recovery`, `group-index`, `evaluator` and `outbox`:
 *
 *     pk layouts#tenant#source         sk group#layout                  a layout (catalogue)
 *                                      sk deletion#id                   a deletion
 *                                      sk pool                          the pool of a small source
 *     pk changes#tenant                sk source                        how often a source's deletions have changed
 *                                      sk index                         how often the index of series has changed
 *     pk sources#tenant#bucket         sk source                        a source; the bucket is a hex digit of its id
 *     pk index#tenant#period#bucket    sk group#layout#window           a layout with samples of a day or month; 8 buckets by the group
 *     pk manifest#tenant#partition     sk day                           what is archived
 *     pk archiving#tenant#partition    sk day                           parts of a day that is being archived
 *     pk directory#tenant#source       sk day                           where a source's series lie in the day's object
 *     pk rollups#tenant#partition      sk hours#month, days#year        the rollup objects of a span
 *     pk rolled#tenant#source          sk hours#month, days#year        where a source's series lie in them
 *     pk hosts#tenant                  sk host id                       a host; other documents likewise, by their kind
 *     pk group-index                   sk tenant#task                   a rule group or monitor of any tenant
 *     pk evaluator                     sk run                           the evaluator that is running
 *                                      sk quiet                         the last period almost without posts
 *                                      sk report                        a report of the evaluator's last run
 *     pk rule-states#tenant            sk task                          state of a rule group at its last tick
 *     pk monitor-states#tenant         sk monitor id                    state of a monitor at its last tick
 *     pk outbox                        sk tick#tenant#task#part         notifications that wait to be sent
 *     pk undelivered#tenant            sk tick#tenant#task#part         notifications that were given up
 *     pk imports#tenant                sk until                         until when samples of any age arrived
 *     pk usage#tenant                  sk day, series or hosts          counters of a day; number of series or hosts
 *     pk minute#tenant                 sk budget#minute                 use of a budget
 *     pk keys#tenant                   sk rights#number                 an API key, as its tenant lists it
 *     pk key#public id                 sk key                           an API key, as a request looks it up
 *     pk tenants                       sk tenant                        a tenant
 *     pk retention                     sk stage                         the retention that sets items' expiry
 *     pk recovery                      sk loss, replay, era, scaling, progress#replay#shard, watermark#shard, flushed#lanes#lane,
 *                                     redriven#object, gap#object
 *     pk recovery#partitions           sk tenant#partition              a partition that was ever in memory
 *
 * S3, one bucket:
 *
 *     archive/v1/tenant=tenant/date=day/partition-partition-announcements-random.parquet
 *     rollups/v1/tenant=tenant/unit=hour/month=month/partition-partition-rrevision-ppart.parquet; unit=day/year=year
 *     quarantine/shard/sequence number
 *     aws/lambda/...                   dead letters; Lambda chooses the rest
 */

/** A DynamoDB item's key. */
export type ItemKey = { readonly pk: { readonly S: string }; readonly sk: { readonly S: string } };

function itemKey(partition: string, sort: string): ItemKey {
  return { pk: { S: partition }, sk: { S: sort } };
}

/** The parts of a warm item's sort key, which identifies it within its partition and day. */
export interface WarmItemKey {
  readonly group: GroupId;
  readonly windowStart: number;
  readonly layer: number;
  readonly startMs: number;
}

export const warmKeys = {
  partition: ({ tenantId, partition }: PartitionRef, day: Day) =>
    `${tenantId}#${partitionText(partition)}#${day}`,
  sort: ({ group, windowStart, layer, startMs }: WarmItemKey) =>
    `${group}#${timeText(windowStart)}#${layer.toString().padStart(4, '0')}#${timeText(startMs)}`,
  /** Returns the prefix of the sort keys of a group-window's items. */
  windowPrefix: (group: GroupId, windowStart: number) => `${group}#${timeText(windowStart)}#`,
  /**
   * Returns a bound for sort keys. It sorts after the group's windows that begin before `ms`, and before the group's
   * other windows.
   */
  groupFrom: (group: GroupId, ms: number) => `${group}#${timeText(ms)}`,
  item: (ref: PartitionRef, day: Day, key: WarmItemKey) =>
    itemKey(warmKeys.partition(ref, day), warmKeys.sort(key)),
  /** Sort key of the item that marks a day on which windows have several items. It sorts after every group. */
  dividedSort: '~divided',
  divided: (ref: PartitionRef, day: Day) => itemKey(warmKeys.partition(ref, day), warmKeys.dividedSort),
  parseSort: (sort: string): WarmItemKey => {
    const [group, windowStart, layer, startMs] = sort.split('#');
    return {
      group: group!.slice(0, GROUP_ID_LENGTH),
      windowStart: Number(windowStart),
      layer: Number(layer),
      startMs: Number(startMs),
    };
  },
} as const;

/**
 * Formats a time with 15 digits, so that strings sort as times do, up to the year 33658. A time before 1970 becomes 0.
 */
function timeText(ms: number): string {
  return Math.max(0, ms).toString().padStart(15, '0');
}

/** Number of partition keys that each tenant has in the source index. */
export const SOURCE_BUCKETS = 16;

/** Returns the bucket of a source, by the first bits of its id. */
export function bucketOfSource(sourceId: Id): number {
  return bucketOf(sourceId, SOURCE_BUCKETS);
}

/**
 * Returns the number of the bucket to which an id belongs.
 *
 * @param buckets a power of two, at most 256
 */
function bucketOf(id: string, buckets: number): number {
  return Math.floor((Buffer.from(id.slice(0, 2), 'base64url')[0]! * buckets) / 256);
}

/**
 * Number of partition keys that each period has in the series index. The first read of a period sends a request for
 * each key, and each costs a read unit even if the key has no items. With fewer keys, DynamoDB might throttle writes:
 * it accepts at most a thousand a second for each key.
 */
export const INDEX_BUCKETS = 8;

const RECOVERY = 'recovery';
const DELETION = 'deletion#';

export const metaKeys = {
  apiKey: (publicId: string) => itemKey(`key#${publicId}`, 'key'),
  apiKeyOfTenant: (tenantId: Id, sortedRights: readonly string[], number: number): ItemKey =>
    itemKey(metaKeys.apiKeysOfTenant(tenantId), `${sortedRights.join(',')}#${number}`),
  apiKeysOfTenant: (tenantId: Id) => `keys#${tenantId}`,

  tenants: 'tenants',
  tenant: (tenantId: Id): ItemKey => itemKey(metaKeys.tenants, tenantId),

  usages: (tenantId: Id) => `usage#${tenantId}`,
  usage: (tenantId: Id, day: Day): ItemKey => itemKey(metaKeys.usages(tenantId), day),
  hostCount: (tenantId: Id): ItemKey => itemKey(metaKeys.usages(tenantId), 'hosts'),
  seriesCount: (tenantId: Id): ItemKey => itemKey(metaKeys.usages(tenantId), 'series'),
  budget: (tenantId: Id, budget: string, minute: number) =>
    itemKey(`minute#${tenantId}`, `${budget}#${minute}`),

  /** @param kind a DocumentKind of the registry */
  documents: (kind: string, tenantId: Id) => `${kind}#${tenantId}`,
  document: (kind: string, tenantId: Id, key: string): ItemKey =>
    itemKey(metaKeys.documents(kind, tenantId), key),

  source: (tenantId: Id, sourceId: Id): string => `layouts#${tenantId}#${sourceId}`,
  pool: (tenantId: Id, sourceId: Id): ItemKey =>
    itemKey(metaKeys.source(tenantId, sourceId), metaKeys.poolSort),
  /** Sort key of the item with a source's pool. */
  poolSort: 'pool',
  /**
   * The partition keys of a tenant's source index. With 16 buckets, a tenant may write 16 times as fast as DynamoDB
   * allows for a single partition key.
   */
  sourceIndex: (tenantId: Id, bucket: number) => `sources#${tenantId}#${bucket.toString(16)}`,
  indexedSource: (tenantId: Id, sourceId: Id): ItemKey =>
    itemKey(metaKeys.sourceIndex(tenantId, bucketOfSource(sourceId)), sourceId),
  /** A reader reads the {@link INDEX_BUCKETS} buckets of a period in parallel. */
  index: (tenantId: Id, period: string, bucket: number) =>
    `index#${tenantId}#${period}#${bucket.toString(16)}`,
  indexed: (tenantId: Id, period: string, group: GroupId, layoutId: Id, windowMs: number): ItemKey =>
    itemKey(
      metaKeys.index(tenantId, period, bucketOf(group, INDEX_BUCKETS)),
      `${group}#${layoutId}#${windowMs}`,
    ),
  parseIndexedSort: (sort: string): { group: GroupId; layoutId: Id; windowMs: number } => {
    const [group, layoutId, windowMs] = sort.split('#');
    return { group: group!, layoutId: layoutId!, windowMs: Number(windowMs) };
  },
  layout: (tenantId: Id, group: GroupId, layoutId: Id): ItemKey =>
    itemKey(metaKeys.source(tenantId, sourceIdOfGroup(group)), `${group}#${layoutId}`),
  parseLayoutSort: (sort: string): { group: GroupId; layoutId: Id } => ({
    group: sort.slice(0, GROUP_ID_LENGTH),
    layoutId: sort.slice(GROUP_ID_LENGTH + 1),
  }),
  deletion: (tenantId: Id, sourceId: Id, id: Id): ItemKey =>
    itemKey(metaKeys.source(tenantId, sourceId), `${DELETION}${id}`),
  changes: (tenantId: Id) => `changes#${tenantId}`,
  changedSource: (tenantId: Id, sourceId: Id): ItemKey => itemKey(metaKeys.changes(tenantId), sourceId),
  /** Ids are longer than `index`, so this sort key is never that of a source. */
  indexChange: (tenantId: Id): ItemKey => itemKey(metaKeys.changes(tenantId), 'index'),
  /** Prefix of the sort keys of deletions. It cannot begin the sort key of a layout, which begins with a group id. */
  deletionPrefix: DELETION,

  directoryOf: (tenantId: Id, sourceId: Id) => `directory#${tenantId}#${sourceId}`,
  directory: (tenantId: Id, sourceId: Id, day: Day): ItemKey =>
    itemKey(metaKeys.directoryOf(tenantId, sourceId), day),

  rollupsOf: ({ tenantId, partition }: PartitionRef) => `rollups#${tenantId}#${partitionText(partition)}`,
  /** @param span sort key of a span, such as `hours#2026-11` */
  rollup: (ref: PartitionRef, span: string): ItemKey => itemKey(metaKeys.rollupsOf(ref), span),
  rolledOf: (tenantId: Id, sourceId: Id) => `rolled#${tenantId}#${sourceId}`,
  rolled: (tenantId: Id, sourceId: Id, span: string): ItemKey =>
    itemKey(metaKeys.rolledOf(tenantId, sourceId), span),

  manifestDays: ({ tenantId, partition }: PartitionRef) => `manifest#${tenantId}#${partitionText(partition)}`,
  manifest: (ref: PartitionRef, day: Day): ItemKey => itemKey(metaKeys.manifestDays(ref), day),
  archiving: ({ tenantId, partition }: PartitionRef, day: Day): ItemKey =>
    itemKey(`archiving#${tenantId}#${partitionText(partition)}`, day),

  imports: (tenantId: Id): ItemKey => itemKey(`imports#${tenantId}`, 'until'),

  // In the following keys, `task` is the id of a rule group or of a monitor.
  taskIndex: 'group-index',
  taskIndexOf: (tenantId: Id) => `${tenantId}#`,
  indexedTask: (tenantId: Id, task: Id): ItemKey =>
    itemKey(metaKeys.taskIndex, `${metaKeys.taskIndexOf(tenantId)}${task}`),
  parseIndexedTask: (sort: string): { tenantId: Id; task: Id } => {
    const [tenantId, task] = sort.split('#');
    return { tenantId: tenantId!, task: task! };
  },
  taskStates: (of: 'rule' | 'monitor', tenantId: Id) => `${of}-states#${tenantId}`,
  taskState: (of: 'rule' | 'monitor', tenantId: Id, task: string): ItemKey =>
    itemKey(metaKeys.taskStates(of, tenantId), task),
  outbox: 'outbox',
  /** The sort key begins with the tick, so that notifications are sent in the order of ticks. */
  outboxBatch: (tickMs: number, tenantId: Id, task: Id, part: number): ItemKey =>
    itemKey(metaKeys.outbox, `${timeText(tickMs)}#${tenantId}#${task}#${part}`),
  parseOutboxBatch: (sort: string): { tickMs: number; tenantId: Id } => {
    const [tick, tenantId] = sort.split('#');
    return { tickMs: Number(tick), tenantId: tenantId! };
  },
  undeliveredOf: (tenantId: Id) => `undelivered#${tenantId}`,
  /** @param key the batch's sort key in the outbox */
  undelivered: (tenantId: Id, key: string): ItemKey => itemKey(metaKeys.undeliveredOf(tenantId), key),
  evaluatorRun: itemKey('evaluator', 'run'),
  evaluatorQuiet: itemKey('evaluator', 'quiet'),
  evaluatorReport: itemKey('evaluator', 'report'),

  retention: itemKey('retention', 'stage'),

  recovery: RECOVERY,
  loss: itemKey(RECOVERY, 'loss'),
  replay: itemKey(RECOVERY, 'replay'),
  era: itemKey(RECOVERY, 'era'),
  scaling: itemKey(RECOVERY, 'scaling'),
  progressPrefix: (replayId: string) => `progress#${replayId}#`,
  progress: (replayId: string, shardId: string): ItemKey =>
    itemKey(RECOVERY, `${metaKeys.progressPrefix(replayId)}${shardId}`),
  redrivenPrefix: 'redriven#',
  redriven: (key: string): ItemKey => itemKey(RECOVERY, `${metaKeys.redrivenPrefix}${key}`),
  gapPrefix: 'gap#',
  gap: (key: string): ItemKey => itemKey(RECOVERY, `${metaKeys.gapPrefix}${key}`),
  watermarkPrefix: 'watermark#',
  watermark: (shardId: string): ItemKey => itemKey(RECOVERY, `${metaKeys.watermarkPrefix}${shardId}`),
  flushedPrefix: (lanes: number) => `flushed#${lanes}#`,
  flushed: (lanes: number, lane: number): ItemKey =>
    itemKey(RECOVERY, `${metaKeys.flushedPrefix(lanes)}${lane}`),
  knownPartitions: `${RECOVERY}#partitions`,
  knownPartition: ({ tenantId, partition }: PartitionRef): ItemKey =>
    itemKey(metaKeys.knownPartitions, `${tenantId}#${partitionText(partition)}`),
  parseKnownPartition: (sort: string): PartitionRef => {
    const [tenantId, partition] = sort.split('#');
    return { tenantId: tenantId!, partition: Number(partition) };
  },

  /** A substring of the `pk` of all of a tenant's items, except the items by which API keys are looked up. */
  ofTenant: (tenantId: Id) => `#${tenantId}`,
  /**
   * Splits a `pk` into the kind of its items and its second part, which for most kinds is the tenant's id.
   */
  parsePartition: (pk: string): { kind: string; owner: string | undefined } => {
    const [kind, owner] = pk.split('#');
    return { kind: kind!, owner };
  },
} as const;

/**
 * Folders of rollup objects, by the number of dashes in the name of the span (`2026`, `2026-11`). Folders are named
 * `key=value`, so Hive, Athena, Spark and DuckDB can read them as partitions.
 */
const ROLLUP_FOLDERS = ['unit=day/year', 'unit=hour/month'];

export const bucketKeys = {
  archiveOf: (tenantId: Id) => `${BUCKET_PREFIX.archive}v1/tenant=${tenantId}/`,
  /**
   * Returns the prefix of a partition-day's objects. Its folders are named `key=value` too: see {@link ROLLUP_FOLDERS}.
   */
  archiveDay: ({ tenantId, partition }: PartitionRef, day: Day) =>
    `${bucketKeys.archiveOf(tenantId)}date=${day}/partition-${partitionText(partition)}`,
  /**
   * Returns the key of a new archive object.
   *
   * @param announcements the day's count of announcements in the manifest when the archiver began to read the day
   * @param unique a string that makes the key unique
   */
  archive: (ref: PartitionRef, day: Day, announcements: number, unique: string) =>
    bucketKeys.archiveNamed(ref, day, `${announcements}-${unique}`),
  /** @param name the part of the key that is not derived from the partition-day: `announcements-unique` */
  archiveNamed: (ref: PartitionRef, day: Day, name: string) =>
    `${bucketKeys.archiveDay(ref, day)}-${name}.parquet`,
  /** Returns the name in a key that `archiveNamed` has made. */
  parseArchiveName: (ref: PartitionRef, day: Day, key: string): string =>
    key.slice(bucketKeys.archiveDay(ref, day).length + 1, -'.parquet'.length),
  /** Returns the count of announcements in the key of an archive object. */
  parseAnnouncements: (key: string): number => Number(/-(\d+)-[A-Za-z0-9]+\.parquet$/.exec(key)?.[1]),
  /** Returns the prefix of a tenant's rollup objects. */
  rollupsOf: (tenantId: Id) => `${BUCKET_PREFIX.rollups}v1/tenant=${tenantId}/`,
  /**
   * Returns the key prefix that a partition's rollup objects have for one span.
   *
   * @param span `2026-11` for hours of a month, `2026` for days of a year
   */
  rollupsOfSpan: ({ tenantId, partition }: PartitionRef, span: string) =>
    `${bucketKeys.rollupsOf(tenantId)}${ROLLUP_FOLDERS[span.split('-').length - 1]}=${span}/` +
    `partition-${partitionText(partition)}-r`,
  /** @param revision increases with each rewrite, so that a committed key is never written again */
  rollup: (ref: PartitionRef, span: string, revision: number, part: number) =>
    `${bucketKeys.rollupsOfSpan(ref, span)}${revision}-p${part}.parquet`,
  /** Returns the revision in the key of a rollup object. */
  parseRollupRevision: (key: string): number => Number(/-r(\d+)-p\d+\.parquet$/.exec(key)?.[1]),
  /** Returns the key of a quarantined record. If the record is delivered again, its key is the same. */
  quarantine: (shardId: string, sequenceNumber: string) =>
    `${BUCKET_PREFIX.quarantine}${shardId}/${sequenceNumber}`,
  /** Returns the shard and the sequence number in the key of a quarantined record; undefined for any other key. */
  parseQuarantine: (key: string): { shardId: string; sequenceNumber: string } | undefined => {
    if (!key.startsWith(BUCKET_PREFIX.quarantine)) return undefined;
    const [, shardId, sequenceNumber] =
      /^([^/]+)\/(\d+)$/.exec(key.slice(BUCKET_PREFIX.quarantine.length)) ?? [];
    return shardId === undefined || sequenceNumber === undefined ? undefined : { shardId, sequenceNumber };
  },
} as const;
