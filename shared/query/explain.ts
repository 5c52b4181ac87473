import { matchersText } from '../model/matcher';
import type { StoreUnit } from '../platform/units';
import type { AllowedRollups } from '../promql/plan';
import { TIERS, type Tier } from './read';
import type { SelectorReading } from './tier-samples';

/** What the read of one selector took. Selectors of the same series share a read. */
export interface ExplainedRead {
  readonly selector: string;
  /** Seconds since epoch; the end is excluded. */
  readonly from: number;
  readonly to: number;
  readonly series: number;
  /** `samples`, or the units that stood for them, and why. */
  readonly read: string;
  readonly why: string;
  /** Days of all sources that came from rollups. */
  readonly rollupDays: number;
  readonly tiers: Readonly<
    Record<Tier, { readonly samples: number; readonly places: number; readonly bytes: number }>
  >;
}

/** What a query did, for `explain`. */
export interface Explanation {
  readonly reads: readonly ExplainedRead[];
  /** Of the whole query: calls of memory, read units of DynamoDB and requests of S3. */
  readonly memoryCalls: number;
  readonly readUnits: number;
  readonly objectGets: number;
}

/**
 * @param allowed what might have stood for samples; undefined: nothing
 * @param used by the stores' clients during the query
 */
export function explain(
  readings: readonly SelectorReading[],
  allowed: AllowedRollups | undefined,
  used: ReadonlyMap<StoreUnit, number>,
): Explanation {
  return {
    reads: readings.map((reading) => explained(reading, allowed)),
    memoryCalls: used.get('RedisCalls') ?? 0,
    readUnits: used.get('ReadUnits') ?? 0,
    objectGets: used.get('ObjectGets') ?? 0,
  };
}

function explained(
  { matchers, range, units, series, rolledDays, tiers }: SelectorReading,
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
    read: units === undefined ? 'samples' : `units of ${units.unitMs / 1000}s`,
    why: whyOf(units !== undefined, range.toMs - range.fromMs, allowed),
    rollupDays: rolledDays,
    tiers: Object.fromEntries(TIERS.map((tier) => [tier, ofTier(tier)])) as ExplainedRead['tiers'],
  };
}

function whyOf(isUnits: boolean, lengthMs: number, allowed: AllowedRollups | undefined): string {
  if (isUnits) return 'max_source_resolution allows them';
  if (allowed === undefined) return 'max_source_resolution allows no stored unit';
  return lengthMs < allowed.leastRangeMs
    ? `the range is shorter than ${allowed.leastRangeMs / 86_400_000} days`
    : 'what the expression does with the selector needs samples';
}
