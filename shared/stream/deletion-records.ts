import type { Deletion } from '../model/deletion';
import type { Labels } from '../model/labels';
import { dayStartMs, type PlacementEpoch, partitionOf, sourceIdOf } from '../model/placement';
import type { Tenant } from '../tenancy/tenants';
import { type OutgoingRecord, partitionKeyOf } from './outgoing';
import { encodeRecord } from './record';

/**
 * Encodes a deletion as records, one for each partition that holds or held the source. The range of each
 * record covers only the days when the source was in that partition. Deletions travel through the stream so
 * that its sequence numbers order them among the samples.
 */
export function deletionRecords(tenant: Tenant, source: Labels, deletion: Deletion): OutgoingRecord[] {
  const sourceId = sourceIdOf(tenant.id, source);
  return placesOf(tenant.placement.epochs, sourceId).flatMap(({ partition, startMs, endMs }) => {
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

interface SourceDays {
  readonly partition: number;
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Lists the partitions of a source, and when it was in each, ascending by time. The last one has no end here: the
 * range of a deletion is cut later, when the deletion arrives (`withinKnownEpochs`).
 */
function placesOf(epochs: readonly PlacementEpoch[], sourceId: string): SourceDays[] {
  const places: SourceDays[] = [];
  for (const [i, { partitions }] of epochs.entries()) {
    const partition = partitionOf(sourceId, partitions);
    const next = epochs[i + 1];
    const endMs = next === undefined ? Number.MAX_SAFE_INTEGER : dayStartMs(next.fromDay);
    const last = places.at(-1);
    if (last?.partition === partition) places[places.length - 1] = { ...last, endMs };
    else places.push({ partition, startMs: last?.endMs ?? Number.MIN_SAFE_INTEGER, endMs });
  }
  return places;
}
