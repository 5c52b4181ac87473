import type { Unit } from './graphs';

/** What is known of the metrics that share a family's name; each text may be empty. */
export interface FamilyMetadata {
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** Metadata by family. */
export type Metadata = ReadonlyMap<string, FamilyMetadata>;

/** A metric's place in its family. */
export interface Described extends FamilyMetadata {
  readonly family: string;
  /** What a histogram's or summary's series adds to the family's name. */
  readonly suffix: '' | '_bucket' | '_sum' | '_count';
}

/** Finds what is known of a metric: by its own name, or by the family's that it is a part of. */
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
  // OpenMetrics leaves `_total` out of a counter's family.
  const family = metric.replace(/_total$/, '');
  const counter = metadata.get(family);
  return counter?.type === 'counter' ? { ...counter, family, suffix: '' } : undefined;
}

const UNIT_WORDS: Readonly<Record<string, Unit>> = {
  By: 'bytes',
  bytes: 'bytes',
  s: 'seconds',
  seconds: 'seconds',
  ms: 'milliseconds',
  milliseconds: 'milliseconds',
  '%': 'percentage',
  percent: 'percentage',
};

/** The unit of a metric's values: as its metadata says, else as its name ends. */
export function unitOf(metric: string, described: FamilyMetadata | undefined): Unit {
  const word = metric.replace(/_(total|sum|bucket)$/, '').replace(/^.*_/, '');
  return UNIT_WORDS[described?.unit ?? ''] ?? UNIT_WORDS[word] ?? 'float';
}
