import { PRICE } from '../cost/prices';
import { DAY_MS } from '../model/duration';
import { matchersText } from '../model/matcher';
import { TIERS, type Tier } from '../model/tier';
import type { StoreUnit } from '../platform/units';
import type { AllowedRollups } from '../promql/plan';
import type { ExplainedRead, Explanation } from './explanation';
import type { SelectorReading } from './tier-samples';

/**
 * Builds the field `explain` of a query's answer.
 *
 * @param allowed grains that might have replaced samples; undefined if there were none
 * @param used grains that the stores' clients counted during the query
 */
export function explain(
  readings: readonly SelectorReading[],
  allowed: AllowedRollups | undefined,
  used: ReadonlyMap<StoreUnit, number>,
): Explanation {
  const readUnits = used.get('ReadUnits') ?? 0;
  const objectGets = used.get('ObjectGets') ?? 0;
  return {
    reads: readings.map((reading) => explained(reading, allowed)),
    memoryCalls: used.get('RedisCalls') ?? 0,
    readUnits,
    objectGets,
    dollars: readUnits * PRICE.warmReadUnit + objectGets * PRICE.objectGet,
  };
}

function explained(
  { matchers, range, grains, series, rounds, rolledDays, tiers }: SelectorReading,
  allowed: AllowedRollups | undefined,
): ExplainedRead {
  const ofTier = (tier: Tier) => {
    const { samples, places } = tiers[tier];
    return { samples, places: places.length, bytes: places.reduce((sum, { bytes }) => sum + bytes, 0) };
  };
  return {
    selector: matchersText(matchers),
    from: range.fromMs / 1000,
    to: range.toMs / 1000,
    series,
    read: grains === undefined ? 'samples' : `rollups of ${grains.grainMs / 1000}s`,
    why: whyOf(grains !== undefined, range.toMs - range.fromMs, allowed),
    rounds,
    rollupDays: rolledDays,
    tiers: Object.fromEntries(TIERS.map((tier) => [tier, ofTier(tier)])) as ExplainedRead['tiers'],
  };
}

function whyOf(isGrains: boolean, lengthMs: number, allowed: AllowedRollups | undefined): string {
  if (isGrains) return 'max_source_resolution allows them';
  if (allowed === undefined) return 'max_source_resolution allows no stored rollup';
  return lengthMs < allowed.leastRangeMs
    ? `the range is shorter than ${allowed.leastRangeMs / DAY_MS} days`
    : 'what the expression does with the selector needs samples';
}
