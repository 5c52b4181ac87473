import type { Version } from '../codec';
import { mapLimited } from '../concurrency';
import type { HotTier } from '../hot/hot-tier';
import type { Catalogue } from '../meta/catalogue';
import { tenantIdOf } from '../placement';
import { decodeRecord, MalformedRecordError } from '../record';
import { type ArrivedRecord, type PartitionBatch, reduceBatch } from './reduce';

/** A record as the stream delivers it. */
export interface DeliveredRecord {
  readonly sequenceNumber: string;
  /** The stream's approximate arrival time, ms since epoch. */
  readonly arrivalMs: number;
  readonly shardId: string;
  readonly data: Uint8Array;
}

/** Where a record goes that no release can read. */
export interface Quarantine {
  put(record: DeliveredRecord, reason: string): Promise<void>;
}

export interface IngestDependencies {
  readonly hot: HotTier;
  readonly catalogue: Catalogue;
  readonly quarantine: Quarantine;
  readonly windowMs: number;
}

export interface IngestResult {
  /** Sequence numbers of the records that must be delivered again. */
  readonly failed: readonly string[];
  readonly errors: readonly Error[];
  readonly samples: number;
  readonly quarantined: number;
}

/** Partitions and catalogue writes in flight at a time. */
const PARALLEL = 32;

/**
 * Appends a batch to the hot tier.
 *
 * A record that cannot be decoded goes to quarantine and the batch goes on; a store that is down fails the records
 * of the partitions it concerns, which the stream delivers again (design.md, rule 9). Nothing here waits for, or
 * triggers, a flush (rule 4).
 */
export async function ingestBatch(
  { hot, catalogue, quarantine, windowMs }: IngestDependencies,
  delivered: readonly DeliveredRecord[],
): Promise<IngestResult> {
  const failed = new Set<number>();
  const errors: Error[] = [];
  const arrived: ArrivedRecord[] = [];
  let quarantined = 0;

  for (const [index, record] of delivered.entries()) {
    try {
      arrived.push({ record: decodeRecord(record.data), version: versionOf(record), index });
    } catch (error) {
      if (!(error instanceof MalformedRecordError)) throw error;
      try {
        await quarantine.put(record, error.message);
        quarantined++;
      } catch (cause) {
        failed.add(index);
        errors.push(new Error(`quarantine of record ${record.sequenceNumber}`, { cause }));
      }
    }
  }

  let samples = 0;
  await mapLimited(reduceBatch(arrived, windowMs), PARALLEL, async (batch) => {
    try {
      await catalogueLayouts(catalogue, batch, windowMs);
      const ref = { tenantId: tenantIdOf(batch.tenant), partition: batch.partition };
      await hot.append(ref, batch);
      samples += batch.samples;
    } catch (cause) {
      for (const index of batch.records) failed.add(index);
      errors.push(new Error(`partition ${batch.partition} of a tenant`, { cause }));
    }
  });
  return {
    failed: [...failed].map((index) => delivered[index]!.sequenceNumber),
    errors,
    samples,
    quarantined,
  };
}

function versionOf(record: DeliveredRecord): Version {
  return { arrivalMs: record.arrivalMs, sequence: BigInt(record.sequenceNumber) };
}

async function catalogueLayouts(
  catalogue: Catalogue,
  batch: PartitionBatch,
  windowMs: number,
): Promise<void> {
  const tenantId = tenantIdOf(batch.tenant);
  const puts = [...batch.groupLayouts].flatMap(([group, ids]) => [...ids].map((id) => ({ group, id })));
  await mapLimited(puts, PARALLEL, ({ group, id }) =>
    catalogue.put(tenantId, group, id, batch.layouts.get(id)!, windowMs),
  );
}
