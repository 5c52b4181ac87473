import type { Span } from './time-range';

export const TIERS = ['hot', 'warm', 'cold'] as const;
export type Tier = (typeof TIERS)[number];

/** What one tier gave to an answer. */
export interface TierShare {
  readonly tier: Tier;
  readonly samples: number;
  readonly durationMs: number;
  /** Where along the time axis its samples lie; both ends have one. */
  readonly spans: readonly Span[];
}

const ENTRY = /(hot|warm|cold);dur=([\d.]+);desc="(\d+) samples"(?:;spans="([\d\- ]*)")?/g;

/**
 * Reads the header that answers of reads bear, such as
 * `hot;dur=1.2;desc="60 samples";spans="1795212060-1795215600", warm;...`.
 */
export function parseServerTiming(header: string): TierShare[] {
  return Array.from(header.matchAll(ENTRY), ([, tier, durationMs, samples, spans]) => ({
    tier: tier as Tier,
    samples: Number(samples),
    durationMs: Number(durationMs),
    spans: (spans ?? '')
      .split(' ')
      .filter((text) => text !== '')
      .map((text) => {
        const [fromS, toS] = text.split('-').map(Number);
        return { fromS: fromS!, toS: toS! };
      }),
  }));
}
