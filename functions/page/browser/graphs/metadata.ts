import type { GraphUnit } from '../../../../shared/registry/graph-units';

/** Metadata of a metric family. Each text may be empty. */
export interface FamilyMetadata {
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

export type Metadata = ReadonlyMap<string, FamilyMetadata>;

/** Metadata of a metric, with its place in its family. */
export interface Described extends FamilyMetadata {
  readonly family: string;
  /** The suffix of a series of a histogram or summary. */
  readonly suffix: '' | '_bucket' | '_sum' | '_count';
}

/** Finds the metadata of a metric, under its own name or that of its family. */
export function describedBy(metadata: Metadata, metric: string): Described | undefined {
  const own = metadata.get(metric);
  if (own !== undefined) return { ...own, family: metric, suffix: '' };
  for (const suffix of ['_bucket', '_sum', '_count'] as const) {
    if (!metric.endsWith(suffix)) continue;
    const family = metric.slice(0, -suffix.length);
    const found = metadata.get(family);
    if (found?.type === 'histogram' || (found?.type === 'summary' && suffix !== '_bucket'))
      return { ...found, family, suffix };
  }
  // In OpenMetrics, the family name of a counter has no `_total`.
  const family = metric.replace(/_total$/, '');
  const counter = metadata.get(family);
  return counter?.type === 'counter' ? { ...counter, family, suffix: '' } : undefined;
}

const UNIT_WORDS: Readonly<Record<string, GraphUnit>> = {
  By: 'bytes',
  bytes: 'bytes',
  s: 'seconds',
  seconds: 'seconds',
  ms: 'milliseconds',
  milliseconds: 'milliseconds',
  '%': 'percentage',
  percent: 'percentage',
};

/** Returns the unit of a metric's values, from its metadata or otherwise from its name. */
export function unitOf(metric: string, described: FamilyMetadata | undefined): GraphUnit {
  const word = metric.replace(/_(total|sum|bucket)$/, '').replace(/^.*_/, '');
  return UNIT_WORDS[described?.unit ?? ''] ?? UNIT_WORDS[word] ?? 'float';
}
