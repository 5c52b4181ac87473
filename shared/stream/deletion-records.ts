import type { Deletion } from '../model/deletion';
import type { RecordFormat } from '../model/formats';
import { idText } from '../model/id';
import type { Labels } from '../model/labels';
import { dayStartMs, type PlacementEpoch, partitionOf, sourceIdBytesOf } from '../model/placement';
import type { Tenant } from '../tenancy/tenants';
import { encodeRecord } from './record';
import { type OutgoingRecord, partitionKeyOf } from './records';

/**
 * Encodes a deletion for the stream. It goes to each partition that the source has, or had, with just the days that lie
 * there: so the sequencer that ordered the samples orders their deletion too.
 */
export function deletionRecords(
  tenant: Tenant,
  source: Labels,
  deletion: Deletion,
  format?: RecordFormat,
): OutgoingRecord[] {
  const sourceId = sourceIdBytesOf(tenant.id, source);
  return placesOf(tenant.placement.epochs, idText(sourceId)).flatMap(({ partition, startMs, endMs }) => {
    const fromMs = Math.max(deletion.fromMs, startMs);
    const toMs = Math.min(deletion.toMs, endMs);
    if (fromMs >= toMs) return [];
    const deletions = [{ sourceId, selector: deletion.selector, fromMs, toMs }];
    return [
      {
        partitionKey: partitionKeyOf({ tenantId: tenant.id, partition }),
        data: encodeRecord({ tenant: tenant.name, partition, groups: [], deletions }, format),
      },
    ];
  });
}

interface SourcePlace {
  readonly partition: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** In which partition a source lies, from when to when. The last is for good: what comes later has a higher version. */
function placesOf(epochs: readonly PlacementEpoch[], sourceId: string): SourcePlace[] {
  const places: SourcePlace[] = [];
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
