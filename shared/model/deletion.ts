import type { Tombstone, Version } from '../codec';
import type { Id } from './id';
import { type Labels, labelValue, METRIC_NAME } from './labels';
import { endOfKnownEpochs } from './placement';

/**
 * Selects series of a source by name: one name, or all names with a prefix. The prefix '' selects every name.
 */
export interface NameSelector {
  readonly name: string;
  readonly isPrefix: boolean;
}

/**
 * A deletion of a source's samples in a half-open range of time, as Unix time in ms. A deletion goes through the stream
 * like a sample, and gets a version there (DESIGN.md, rule 2). It deletes only samples with lower versions.
 */
export interface Deletion {
  readonly selector: NameSelector;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * A deletion as it appears in a record, with the source that it applies to. A record may have deletions for several
 * sources.
 */
export interface SourceDeletion extends Deletion {
  readonly sourceId: Id;
}

/** A deletion with the version that the stream has given it. */
export interface VersionedDeletion extends Deletion {
  readonly version: Version;
}

/**
 * Cuts off the range of a deletion before any epoch that the deletion's writer did not know about. From that epoch on,
 * the source may be in another partition, and versions are comparable only within one partition (DESIGN.md,
 * "Versions").
 */
export function withinKnownEpochs<D extends VersionedDeletion>(deletion: D): D {
  return { ...deletion, toMs: Math.min(deletion.toMs, endOfKnownEpochs(deletion.version.arrivalMs)) };
}

/**
 * The range of a deletion that covers all samples. {@link withinKnownEpochs} limits its end once the deletion has
 * arrived.
 */
export const ALL_TIME = { fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER } as const;

export const ALL_NAMES: NameSelector = { name: '', isPrefix: true };

/** Parses a name, or a prefix such as `custom.foo.*` or `*`. Returns undefined if `*` is not at the end. */
export function selectorOf(text: string): NameSelector | undefined {
  const isPrefix = text.endsWith('*');
  const name = isPrefix ? text.slice(0, -1) : text;
  return name.includes('*') || (name === '' && !isPrefix) ? undefined : { name, isPrefix };
}

/** Whether a selector selects a metric name. */
export function selects({ name, isPrefix }: NameSelector, metricName: string): boolean {
  return isPrefix ? metricName.startsWith(name) : metricName === name;
}

/**
 * Converts deletions of a source to tombstones for a block. Each deletion becomes a tombstone for each column
 * whose series it selects.
 *
 * @param series the series of the block's columns
 */
export function tombstonesOf(
  deletions: readonly VersionedDeletion[],
  series: readonly Labels[],
): Tombstone[] {
  if (deletions.length === 0) return [];
  return series.flatMap((labels, column) => {
    const name = labelValue(labels, METRIC_NAME);
    if (name === undefined) return [];
    return deletions
      .filter(({ selector, fromMs, toMs }) => fromMs < toMs && selects(selector, name))
      .map(({ fromMs, toMs, version }) => ({ series: column, fromMs, toMs, version }));
  });
}
