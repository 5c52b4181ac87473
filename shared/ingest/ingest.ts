import type { CatalogueWriter } from '../catalogue/catalogue-writer';
import type { Version } from '../codec';
import type { Manifest } from '../cold/manifest';
import { type PartitionAppend, UnmarkedPartitionError } from '../hot/frame-appender';
import type { HotTier } from '../hot/hot-tier';
import { decodeLayout, type Layout, MAX_MERGED_BYTES, mergeLayouts } from '../model/layout';
import { bytesOfPacked, packLayout } from '../model/packed-layout';
import { type Day, dayOf, type GroupId, type PartitionRef, tenantIdOf } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { isStoreFailure } from '../platform/store-failure';
import type { LossWatch } from '../recovery/loss-watch';
import { decodeHeartbeat } from '../stream/heartbeat';
import { type DeliveredRecord, decodeRecord, MalformedRecordError } from '../stream/record-decoder';
import type { DeletedTenants } from '../tenancy/deleted-tenants';
import type { NewLayout, SeriesCounter } from '../tenancy/series-counter';
import type { CommonLayouts } from './common-layouts';
import { putDeletions } from './deletions';
import type { S3Quarantine } from './quarantine';
import { type ArrivedRecord, byPartition, type PartitionBatch, reducePartition } from './reduce';
import { contentRefusal } from './refusal';

export interface IngestDependencies {
  readonly hot: HotTier;
  readonly catalogue: CatalogueWriter;
  readonly manifest: Manifest;
  readonly quarantine: Pick<S3Quarantine, 'put'>;
  readonly losses: Pick<LossWatch, 'resolve'>;
  readonly newSeries: Pick<SeriesCounter, 'countAdded'>;
  readonly deletedTenants: Pick<DeletedTenants, 'names'>;
  readonly commonLayouts: CommonLayouts;
  readonly windowMs: number;
  /** Whether the stream has delivered the records before, as in a replay. */
  readonly isReplay: boolean;
}

export interface IngestResult {
  /** Sequence numbers of the records that the stream must deliver again. */
  readonly failed: readonly string[];
  /**
   * Whether the records failed only because stores failed, timed out or throttled. Records for which no time was left
   * also count, if a store failed for another record: calls that time out use up the time.
   */
  readonly isDown: boolean;
  /**
   * Why records failed, in a store's own words: the message of the innermost cause of the first error other than a lack
   * of time.
   */
  readonly reason: string | undefined;
  readonly errors: readonly Error[];
  readonly samples: number;
  /** Sequence numbers of the records in quarantine. */
  readonly quarantined: readonly string[];
}

/** Number of partitions that are ingested at the same time. */
const PARALLEL = 32;
/**
 * Up to this many layouts of a group in a batch are put into the catalogue unchanged. If there are more, they are
 * merged first.
 */
const MAX_LAYOUTS_EACH = 16;

/**
 * Ingests a batch of the stream: appends its samples to memory.
 *
 * A record that cannot be decoded, or that a store refuses for its content, goes to quarantine, and the rest
 * of the batch is ingested. If a store is down, the records of the affected partitions fail, and the stream
 * delivers them again (DESIGN.md, rule 9). An append neither waits for a flush nor starts one (rule 4).
 *
 * @param hasTime called before each partition. If it returns false, the partition's records fail, and the stream
 *   delivers them again
 */
export async function ingestBatch(
  dependencies: IngestDependencies,
  delivered: readonly DeliveredRecord[],
  hasTime: () => boolean = () => true,
): Promise<IngestResult> {
  const failed = new Set<number>();
  const errors: Error[] = [];
  const arrived: ArrivedRecord[] = [];
  const quarantined: string[] = [];
  let samples = 0;
  // Read the deleted tenants before anything is written. If this throws, the stream delivers the whole batch
  // again.
  const deleted = await dependencies.deletedTenants.names();

  const setAside = async (index: number, reason: string) => {
    const record = delivered[index]!;
    try {
      await dependencies.quarantine.put(record, reason);
      quarantined.push(record.sequenceNumber);
    } catch (cause) {
      failed.add(index);
      errors.push(new Error(`record ${record.sequenceNumber} could not be put into quarantine`, { cause }));
    }
  };

  for (const [index, record] of delivered.entries()) {
    try {
      if (decodeHeartbeat(record.data) !== undefined) continue;
      const decoded = decodeRecord(record.data);
      // Skip records of deleted tenants: appending them would bring their samples back, now or in a replay.
      if (deleted.has(decoded.tenant)) continue;
      arrived.push({ record: decoded, version: versionOf(record), index });
    } catch (error) {
      if (!(error instanceof MalformedRecordError)) throw error;
      await setAside(index, error.message);
    }
  }

  /**
   * Ingests the records of one partition together. If a store refuses them for their content, ingests them one at a
   * time, to find out which of them the store refuses.
   */
  const ingest = async (records: readonly ArrivedRecord[]): Promise<void> => {
    try {
      if (!hasTime()) throw new NoTimeError();
      // Two statements: in one expression, `samples` would be read before the await, and the additions of
      // other partitions would be lost.
      const appended = await ingestPartition(dependencies, records);
      samples += appended;
    } catch (cause) {
      const reason = contentRefusal(cause);
      if (reason === undefined) {
        const { tenant, partition } = records[0]!.record;
        for (const { index } of records) failed.add(index);
        const what = `partition ${partition} of tenant ${tenantIdOf(tenant)} was not appended`;
        errors.push(new Error(what, { cause }));
      } else if (records.length === 1) await setAside(records[0]!.index, reason);
      else for (const record of records) await ingest([record]);
    }
  };
  await mapLimited(byPartition(arrived), PARALLEL, ingest);
  const others = errors.filter(({ cause }) => !(cause instanceof NoTimeError));
  const refusal = others.find((error) => !isStoreFailure(error));
  const first = refusal ?? others[0] ?? errors[0];
  return {
    failed: [...failed].map((index) => delivered[index]!.sequenceNumber),
    isDown: others.length > 0 && refusal === undefined,
    reason: first && innermostMessage(first),
    errors,
    samples,
    quarantined,
  };
}

/** Returns the message of the innermost cause of an error. Node's error for a refused connection has several causes. */
function innermostMessage(error: Error): string {
  const cause = error instanceof AggregateError ? error.errors[0] : error.cause;
  return cause instanceof Error ? innermostMessage(cause) : error.message;
}

class NoTimeError extends Error {
  override readonly name = 'NoTimeError';
  override readonly message = 'the invocation has no time left; the stream delivers the record again';
}

/** Ingests the records of one partition. Returns the number of samples. */
async function ingestPartition(
  dependencies: IngestDependencies,
  records: readonly ArrivedRecord[],
): Promise<number> {
  const { catalogue, commonLayouts, windowMs } = dependencies;
  const batch = reducePartition(records, windowMs, commonLayouts);
  const fresh = await catalogueLayouts(catalogue, batch, windowMs);
  const ref = { tenantId: tenantIdOf(batch.tenant), partition: batch.partition };
  await putDeletions(dependencies, ref, batch.deletions);
  const newLayouts = new Set(fresh.map(({ id }) => id));
  await append(dependencies, ref, { ...batch, newLayouts });
  await dependencies.newSeries.countAdded(ref.tenantId, fresh);
  return batch.samples;
}

/**
 * Appends a partition's batch. If memory may have lost samples of the partition, first records the loss.
 */
async function append(
  { hot, losses, isReplay }: IngestDependencies,
  ref: PartitionRef,
  addition: PartitionAppend,
): Promise<void> {
  try {
    await hot.appender.append(ref, addition, isReplay);
  } catch (error) {
    if (!(error instanceof UnmarkedPartitionError)) throw error;
    await losses.resolve(ref);
    await hot.appender.append(ref, addition, isReplay);
  }
}

function versionOf(record: DeliveredRecord): Version {
  return { arrivalMs: record.arrivalMs, sequence: BigInt(record.sequenceNumber) };
}

async function catalogueLayouts(
  catalogue: CatalogueWriter,
  batch: PartitionBatch,
  windowMs: number,
): Promise<NewLayout[]> {
  const tenantId = tenantIdOf(batch.tenant);
  const firstMs = new Map<GroupId, number>();
  const days = new Map<GroupId, Set<Day>>();
  for (const { group, windowStart } of batch.windows) {
    firstMs.set(group, Math.min(windowStart, firstMs.get(group) ?? Infinity));
    const known = days.get(group);
    if (known === undefined) days.set(group, new Set([dayOf(windowStart)]));
    else known.add(dayOf(windowStart));
  }
  const puts = [...batch.groupLayouts].flatMap(([group, ids]) => {
    const all = [...ids].map((id) => batch.layouts.get(id)!);
    // If many new names arrive at once, a group may have many layouts. The catalogue then gets a few merged layouts
    // that cover the same series. Memory still gets the frames' own layouts.
    const few =
      all.length <= MAX_LAYOUTS_EACH
        ? all
        : mergedLayouts(all.map((layout) => decodeLayout(bytesOfPacked(layout)))).map(({ bytes }) =>
            packLayout(bytes),
          );
    return few.map((layout) => ({
      ...layout,
      group,
      firstMs: firstMs.get(group)!,
      days: [...days.get(group)!],
    }));
  });
  const [became] = await Promise.all([
    catalogue.putAll(tenantId, puts, windowMs),
    catalogue.indexWriter.put(tenantId, puts, windowMs),
  ]);
  return puts.flatMap((layout, i) => {
    const { isNew, isOfNewSource } = became[i]!;
    return isNew ? [{ ...layout, isOfNewSource }] : [];
  });
}

/** Merges layouts into a few, each small enough for an item of the catalogue. */
function mergedLayouts(layouts: readonly Layout[]): Layout[] {
  const merged: Layout[] = [];
  let pending: Layout[] = [];
  let bytes = 0;
  for (const layout of layouts) {
    if (pending.length > 0 && bytes + layout.bytes.length > MAX_MERGED_BYTES) {
      merged.push(mergeLayouts(pending));
      pending = [];
      bytes = 0;
    }
    pending.push(layout);
    bytes += layout.bytes.length;
  }
  return [...merged, mergeLayouts(pending)];
}
