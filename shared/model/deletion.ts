import type { Erasure, Version } from '../codec';
import type { Id } from './id';
import { type Labels, labelValue, METRIC_NAME } from './labels';
import { endOfKnownEpochs } from './placement';

/**
 * Selects series of a source by name: a single name, or all names with a prefix. The prefix '' selects every
 * name.
 */
export interface NameSelector {
  readonly name: string;
  readonly isPrefix: boolean;
}

/**
 * Deletes those samples of a source in a half-open time range, ms since epoch, that are older than the
 * deletion. It travels through the stream like a sample and gets its version there (DESIGN.md, rule 2).
 */
export interface Deletion {
  readonly selector: NameSelector;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A deletion in a record, which may also have deletions of other sources. */
export interface SourceDeletion extends Deletion {
  readonly sourceId: Id;
}

/**
 * A deletion with the version from the stream. It removes samples of lower versions from every tier, and
 * leaves samples of higher versions.
 */
export interface VersionedDeletion extends Deletion {
  readonly version: Version;
}

/**
 * Limits a deletion to times when its source is in the same partition. Versions are only comparable within
 * one partition, and the source may be in another one from the next epoch on (DESIGN.md, "Versions").
 */
export function withinKnownEpochs<D extends VersionedDeletion>(deletion: D): D {
  return { ...deletion, toMs: Math.min(deletion.toMs, endOfKnownEpochs(deletion.version.arrivalMs)) };
}

/** An unbounded range. {@link withinKnownEpochs} limits the end of a deletion after it has arrived. */
export const ALL_TIME = { fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER } as const;

export const ALL_NAMES: NameSelector = { name: '', isPrefix: true };

/** Parses `custom.foo.*`, `*` or a name. `*` is only allowed at the end; otherwise returns undefined. */
export function selectorOf(text: string): NameSelector | undefined {
  const isPrefix = text.endsWith('*');
  const name = isPrefix ? text.slice(0, -1) : text;
  return name.includes('*') || (name === '' && !isPrefix) ? undefined : { name, isPrefix };
}

export function selects({ name, isPrefix }: NameSelector, metricName: string): boolean {
  return isPrefix ? metricName.startsWith(name) : metricName === name;
}

/** Translates deletions into erasures of the columns of a block with these series. */
export function erasuresOf(deletions: readonly VersionedDeletion[], series: readonly Labels[]): Erasure[] {
  if (deletions.length === 0) return [];
  return series.flatMap((labels, column) => {
    const name = labelValue(labels, METRIC_NAME);
    if (name === undefined) return [];
    return deletions
      .filter(({ selector, fromMs, toMs }) => fromMs < toMs && selects(selector, name))
      .map(({ fromMs, toMs, version }) => ({ series: column, fromMs, toMs, version }));
  });
}
