import type { Tier } from '../../../../shared/model/tier';
import type { Span } from '../view/time-range';

/** One tier's share of a response. */
export interface TierShare {
  readonly tier: Tier;
  readonly samples: number;
  /** Spans of the tier's samples. Each begins and ends at a sample. */
  readonly spans: readonly Span[];
}

const ENTRY = /(hot|warm|cold);dur=[\d.]+;desc="(\d+) samples"(?:;spans="([\d\- ]*)")?/g;

/**
 * Parses the `Server-Timing` header of a response, such as
 * `hot;dur=1.2;desc="60 samples";spans="1795212060-1795215600", warm;...`.
 */
export function parseServerTiming(header: string): TierShare[] {
  return Array.from(header.matchAll(ENTRY), ([, tier, samples, spans]) => ({
    tier: tier as Tier,
    samples: Number(samples),
    spans: (spans ?? '')
      .split(' ')
      .filter((text) => text !== '')
      .map((text) => {
        const [fromS, toS] = text.split('-').map(Number);
        return { fromS: fromS!, toS: toS! };
      }),
  }));
}
