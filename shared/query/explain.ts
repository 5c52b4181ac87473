import { matchersText } from '../model/matcher';
import { TIERS, type Tier } from '../model/tier';
import { PRICE } from '../platform/prices';
import { READ_UNIT_BYTES, type StoreUnit } from '../platform/units';
import type { ExplainedRead, Explanation } from './explanation';
import type { SelectorResult } from './tier-samples';

/**
 * Builds the field `explain` of a query's response.
 *
 * @param used billing units that the clients of the stores counted during the query
 */
export function explain(
  results: readonly SelectorResult[],
  used: ReadonlyMap<StoreUnit, number>,
): Explanation {
  const readUnits = used.get('ReadUnits') ?? 0;
  const objectGets = used.get('ObjectGets') ?? 0;
  return {
    reads: results.map(explainRead),
    memoryCalls: used.get('RedisCalls') ?? 0,
    tableCalls: used.get('TableCalls') ?? 0,
    readUnits,
    objectGets,
    dollars: dollarsOf(readUnits, objectGets),
  };
}

function dollarsOf(readUnits: number, objectGets: number): number {
  return readUnits * PRICE.warmReadUnit + objectGets * PRICE.objectGet;
}

function explainRead({
  matchers,
  range,
  grains,
  why,
  series,
  rounds,
  rollupDays,
  tiers,
}: SelectorResult): ExplainedRead {
  const ofTier = (tier: Tier) => {
    const { samples, places } = tiers[tier];
    const bytes = places.reduce((sum, { bytes }) => sum + bytes, 0);
    return { samples, places: places.length, bytes, why: whyTier(tier, places.length > 0, rounds) };
  };
  const readUnits = tiers.warm.places.reduce((sum, { bytes }) => sum + Math.ceil(bytes / READ_UNIT_BYTES), 0);
  const objectGets = tiers.cold.places.length;
  return {
    selector: matchersText(matchers),
    from: range.fromMs / 1000,
    to: range.toMs / 1000,
    series,
    read: grains === undefined ? 'samples' : `rollups of ${grains.grainMs / 1000}s`,
    why,
    rounds,
    rollupDays,
    tiers: Object.fromEntries(TIERS.map((tier) => [tier, ofTier(tier)])) as ExplainedRead['tiers'],
    readUnits,
    objectGets,
    dollars: dollarsOf(readUnits, objectGets),
  };
}

/**
 * Returns the reason why a selector read a tier, or did not read it.
 *
 * @param hasPlaces whether the tier had any windows, items or byte ranges of the selector
 * @param rounds number of rounds of requests beyond memory; 0 when memory had everything
 */
function whyTier(tier: Tier, hasPlaces: boolean, rounds: number): string {
  if (tier === 'hot') return hasPlaces ? 'memory is always read first' : 'memory has no samples of the range';
  if (rounds === 0) return 'not read: nothing of the range has left memory';
  if (tier === 'warm') return hasPlaces ? 'windows have left memory' : 'no window is in the warm table';
  return hasPlaces ? 'days are archived' : 'no day of the series is archived';
}
