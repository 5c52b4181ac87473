import { BoundedCache } from '../model/bounded-cache';
import type { Id } from '../model/id';
import { labelsKey } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import { labelsOfSource, type Source } from '../protocol/protocol';

/** The place of a source that has groups of its own. */
export class OwnPlace {
  constructor(
    readonly tenantId: Id,
    readonly sourceId: Id,
  ) {}
}

/** The place of a source that is in a pool. */
export class PooledSource {
  constructor(
    readonly tenantId: Id,
    readonly poolId: Id,
    /** Names the source within the process. */
    readonly ordinal: number,
  ) {}
}

/** What was noted of a tenant's source. Two tenants may post the same one. */
export function knownPlace(tenantId: Id, source: Source): OwnPlace | PooledSource | undefined {
  const place = 'place' in source ? source.place : undefined;
  if (!(place instanceof OwnPlace || place instanceof PooledSource)) return undefined;
  return place.tenantId === tenantId ? place : undefined;
}

/** By tenant and labels, of sources that their protocol does not remember. */
const ids = new BoundedCache<Id>(32_000_000, (_, key) => key.length + 80);

/** The id of a source that is in no pool. */
export function ownIdOf(tenantId: Id, source: Source): Id {
  const known = knownPlace(tenantId, source);
  if (known instanceof OwnPlace) return known.sourceId;
  const labels = labelsOfSource(source);
  if ('place' in source) {
    const sourceId = sourceIdOf(tenantId, labels);
    source.place = new OwnPlace(tenantId, sourceId);
    return sourceId;
  }
  const key = `${tenantId}${labelsKey(labels)}`;
  const cached = ids.get(key);
  if (cached !== undefined) return cached;
  const sourceId = sourceIdOf(tenantId, labels);
  ids.set(key, sourceId);
  return sourceId;
}
