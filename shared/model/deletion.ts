import type { Erasure, Version } from '../codec';
import { type Labels, labelValue, METRIC_NAME } from './labels';

/** Series of a source by their names: one name, or all that begin with it; '' as a prefix is every name. */
export interface NameSelector {
  readonly name: string;
  readonly isPrefix: boolean;
}

/**
 * What is deleted of a source: the samples of a half-open range, ms since epoch, that are older than the deletion. It
 * travels through the stream like a sample and gets its version there (design.md, rule 2).
 */
export interface Deletion {
  readonly selector: NameSelector;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A deletion with the version that decides: older samples are gone wherever they are, newer ones stay. */
export interface ArrivedDeletion extends Deletion {
  readonly version: Version;
}

/** A range without bounds. What is posted later has a higher version, so it has no need to end. */
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

/** What deletions mean for the columns of `series`, in that order. */
export function erasuresOf(deletions: readonly ArrivedDeletion[], series: readonly Labels[]): Erasure[] {
  if (deletions.length === 0) return [];
  return series.flatMap((labels, column) => {
    const name = labelValue(labels, METRIC_NAME);
    if (name === undefined) return [];
    return deletions
      .filter(({ selector }) => selects(selector, name))
      .map(({ fromMs, toMs, version }) => ({ series: column, fromMs, toMs, version }));
  });
}
