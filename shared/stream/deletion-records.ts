import { compareVersions } from '../codec';
import { type Deletion, type VersionedDeletion, withinKnownEpochs } from '../model/deletion';
import type { Labels } from '../model/labels';
import { dayStartMs, type PlacementEpoch, partitionKeyOf, partitionOf, sourceIdOf } from '../model/placement';
import type { Tenant } from '../tenancy/tenants';
import type { OutgoingRecord } from './put';
import { encodeRecord } from './record';

/**
 * Encodes a deletion as records, one for each partition that has or had the source. Deletions go through the stream
 * like samples, so their sequence numbers show which samples are older. A deletion deletes only these.
 */
export function deletionRecords(tenant: Tenant, source: Labels, deletion: Deletion): OutgoingRecord[] {
  return partitionDeletions(tenant, source, deletion).map(({ partition, ...part }) => ({
    partitionKey: partitionKeyOf({ tenantId: tenant.id, partition }),
    data: encodeRecord({ tenant: tenant.name, partition, groups: [], deletions: [part] }),
  }));
}

/**
 * Divides a deletion into one for each partition that has or had the source. The range of each covers only the days
 * on which the source is in that partition.
 */
function partitionDeletions(tenant: Tenant, source: Labels, { selector, ...range }: Deletion) {
  const sourceId = sourceIdOf(tenant.id, source);
  return sourceDaysOf(tenant.placement.epochs, sourceId).flatMap(({ partition, startMs, endMs }) => {
    const fromMs = Math.max(range.fromMs, startMs);
    const toMs = Math.min(range.toMs, endMs);
    return fromMs < toMs ? [{ partition, sourceId, selector, fromMs, toMs }] : [];
  });
}

/**
 * Whether all records of a deletion have arrived. A deletion that already existed, or that has another selector or
 * range, does not count: two people may delete from one source at the same time.
 *
 * @param before the source's deletions before the records were put into the stream
 * @param now the source's deletions in the catalogue
 */
export function hasArrived(
  tenant: Tenant,
  source: Labels,
  deletion: Deletion,
  before: readonly VersionedDeletion[],
  now: readonly VersionedDeletion[],
): boolean {
  const added = now.filter(({ version }) =>
    before.every((earlier) => compareVersions(earlier.version, version) !== 0),
  );
  return partitionDeletions(tenant, source, deletion).every((part) =>
    added.some((each) => isSame(withinKnownEpochs({ ...part, version: each.version }), each)),
  );
}

function isSame(a: Deletion, b: Deletion): boolean {
  return (
    a.selector.name === b.selector.name &&
    a.selector.isPrefix === b.selector.isPrefix &&
    a.fromMs === b.fromMs &&
    a.toMs === b.toMs
  );
}

/** A partition that holds a source, and the half-open range of sample time during which the source is there. */
interface SourceDays {
  readonly partition: number;
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Lists the partitions of a source, the oldest first, each with its range of time. The range of the last partition has
 * no end, although the source may move to another partition later. Therefore `withinKnownEpochs` gives each deletion an
 * end when the deletion arrives.
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
