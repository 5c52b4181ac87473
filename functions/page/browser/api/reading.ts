import { TIERS } from '../../../../shared/model/tier';
import { joinedData, type SeriesData } from '../graphs/plot-data';
import type { Span } from '../view/time-range';
import type { SourceRef } from '../view/view-state';
import type { Api } from './api';
import type { TierShare } from './server-timing';

/** The series of a graph, in the requested order, with details of the read. */
export interface Reading extends SeriesData {
  readonly tiers: readonly TierShare[];
  /** Duration of the longest request, as seen by the page. */
  readonly durationMs: number;
  /**
   * Whether samples are missing because memory lost them, or a store refused them, and they have not been ingested
   * again.
   */
  readonly isIncomplete: boolean;
}

/** Reads series of any number of sources, with one request for each source. */
export async function readSeries(
  api: Api,
  series: readonly { readonly source: SourceRef; readonly metric: string }[],
  span: Span,
  signal: AbortSignal,
): Promise<Reading> {
  const bySource = new Map<string, { readonly source: SourceRef; readonly at: number[] }>();
  for (const [i, { source }] of series.entries()) {
    const key = `${source.kind} ${source.id}`;
    const entry = bySource.get(key) ?? { source, at: [] };
    entry.at.push(i);
    bySource.set(key, entry);
  }
  const groups = [...bySource.values()];
  const parts = await Promise.all(
    groups.map(({ source, at }) =>
      api.read(
        source,
        at.map((i) => series[i]!.metric),
        span,
        signal,
      ),
    ),
  );
  const { values, ...reading } = joinedReading(parts);
  const order = groups.flatMap(({ at }) => at);
  return {
    ...reading,
    values: series.map((_, i) => values[order.indexOf(i)]!),
  };
}

/** Joins the series of several responses to one table. */
export function joinedReading(parts: readonly Reading[]): Reading {
  return {
    ...joinedData(parts),
    tiers: addedTiers(parts.map(({ tiers }) => tiers)),
    durationMs: Math.max(0, ...parts.map(({ durationMs }) => durationMs)),
    isIncomplete: parts.some(({ isIncomplete }) => isIncomplete),
  };
}

/** Adds up each tier's shares over several responses. */
export function addedTiers(results: readonly (readonly TierShare[])[]): TierShare[] {
  return TIERS.map((tier) => {
    const shares = results.flat().filter((share) => share.tier === tier);
    return {
      tier,
      samples: shares.reduce((sum, { samples }) => sum + samples, 0),
      spans: mergedSpans(shares.flatMap(({ spans }) => spans)),
    };
  });
}

function mergedSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of [...spans].sort((a, b) => a.fromS - b.fromS)) {
    const last = merged.at(-1);
    if (last === undefined || span.fromS > last.toS) merged.push(span);
    else merged[merged.length - 1] = { fromS: last.fromS, toS: Math.max(last.toS, span.toS) };
  }
  return merged;
}
