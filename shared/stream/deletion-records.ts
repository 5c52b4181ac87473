import type { Deletion } from '../model/deletion';
import type { Labels } from '../model/labels';
import { dayStartMs, type PlacementEpoch, partitionOf, sourceIdOf } from '../model/placement';
import type { Tenant } from '../tenancy/tenants';
import { type OutgoingRecord, partitionKeyOf } from './outgoing';
import { encodeRecord } from './record';

/**
 * Encodes a deletion as records, one for each partition that has or had the source. The range of a record
 * covers only the days on which the source is in that partition. Deletions go through the stream, so that the
 * stream's sequence numbers tell which samples are older.
 */
export function deletionRecords(tenant: Tenant, source: Labels, deletion: Deletion): OutgoingRecord[] {
  const sourceId = sourceIdOf(tenant.id, source);
  return sourceDaysOf(tenant.placement.epochs, sourceId).flatMap(({ partition, startMs, endMs }) => {
    const fromMs = Math.max(deletion.fromMs, startMs);
    const toMs = Math.min(deletion.toMs, endMs);
    if (fromMs >= toMs) return [];
    const deletions = [{ sourceId, selector: deletion.selector, fromMs, toMs }];
    return [
      {
        partitionKey: partitionKeyOf({ tenantId: tenant.id, partition }),
        data: encodeRecord({ tenant: tenant.name, partition, groups: [], deletions }),
      },
    ];
  });
}

/** A partition that holds a source, and the half-open range of sample time during which the source is there. */
interface SourceDays {
  readonly partition: number;
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Lists the partitions that a source is in over time, ascending. The range of the last partition has no end here.
 * A deletion gets an end when it arrives (`withinKnownEpochs`), since the source may be in another partition later.
 */
function sourceDaysOf(epochs: readonly PlacementEpoch[], sourceId: string): SourceDays[] {
  const found: SourceDays[] = [];
  for (const [i, { partitions }] of epochs.entries()) {
    const partition = partitionOf(sourceId, partitions);
    const next = epochs[i + 1];
    const endMs = next === undefined ? Number.MAX_SAFE_INTEGER : dayStartMs(next.fromDay);
    const last = found.at(-1);
    if (last?.partition === partition) found[found.length - 1] = { ...last, endMs };
    else found.push({ partition, startMs: last?.endMs ?? Number.MIN_SAFE_INTEGER, endMs });
  }
  return found;
}
