import type { Erasure, Version } from '../codec';
import type { Id } from './id';
import { type Labels, labelValue, METRIC_NAME } from './labels';
import { endOfKnownEpochs } from './placement';

/** Selects series of a source by name: one name, or a prefix, of which '' is every name. */
export interface NameSelector {
  readonly name: string;
  readonly isPrefix: boolean;
}

/**
 * Deletes a source's samples of a half-open range, ms since epoch, that are older than the deletion. It travels through the
 * stream like a sample, and gets its version there (DESIGN.md, rule 2).
 */
export interface Deletion {
  readonly selector: NameSelector;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A deletion on its way to the catalogue, beside those of other sources. */
export interface SourceDeletion extends Deletion {
  readonly sourceId: Id;
}

/** A deletion that arrived: it removes samples of a lower version from every tier, and leaves those of a higher one. */
export interface VersionedDeletion extends Deletion {
  readonly version: Version;
}

/**
 * Cuts a deletion where it could meet samples of another partition. Versions decide within one partition alone, and the source may
 * lie in another one from the next epoch on (DESIGN.md, "Versions").
 */
export function withinKnownEpochs<D extends VersionedDeletion>(deletion: D): D {
  return { ...deletion, toMs: Math.min(deletion.toMs, endOfKnownEpochs(deletion.version.arrivalMs)) };
}

/** A range without bounds. {@link withinKnownEpochs} gives a deletion its end once it has arrived. */
export const ALL_TIME = { fromMs: Number.MIN_SAFE_INTEGER, toMs: Number.MAX_SAFE_INTEGER } as const;

export const ALL_NAMES: NameSelector = { name: '', isPrefix: true };

/** Reads `custom.foo.*`, `*` or a name; `*` may stand only at the end. */
export function selectorOf(text: string): NameSelector | undefined {
  const isPrefix = text.endsWith('*');
  const name = isPrefix ? text.slice(0, -1) : text;
  return name.includes('*') || (name === '' && !isPrefix) ? undefined : { name, isPrefix };
}

export function selects({ name, isPrefix }: NameSelector, metricName: string): boolean {
  return isPrefix ? metricName.startsWith(name) : metricName === name;
}

/** Translates deletions into erasures of the columns of `series`, in that order. */
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
