import { PromqlError } from '../promql/errors';
import { instantQuery, type QueryOptions } from '../promql/query';
import type { SampleStore } from '../promql/store';
import { type InstantSample, RuleError } from './evaluate-rule';

/**
 * Evaluates a rule's expression at one time. A scalar becomes one sample without labels.
 *
 * @throws {RuleError} when the expression fails, or yields neither a vector nor a scalar
 */
export async function instantVector(
  store: SampleStore,
  expr: string,
  atMs: number,
  options: QueryOptions,
): Promise<readonly InstantSample[]> {
  try {
    const { value } = await instantQuery(store, expr, atMs, options);
    if (value.type === 'scalar') return [{ labels: [], value: value.values[0]! }];
    if (value.type === 'vector')
      return value.series.map(({ labels, values }) => ({ labels, value: values[0]! }));
  } catch (error) {
    if (error instanceof PromqlError) throw new RuleError(error.message, { cause: error });
    throw error;
  }
  throw new RuleError('rule result is not a vector or scalar');
}

/** Some samples are known to be missing. */
export class IncompleteError extends Error {
  override readonly name = 'IncompleteError';
}

/** Wraps a store so that it fails when samples are known to be missing. */
export function wholeOf(store: SampleStore): SampleStore {
  return {
    select: async (matchers, range) => {
      const selected = await store.select(matchers, range);
      if (selected.warnings.length > 0) throw new IncompleteError(selected.warnings[0]!);
      return selected;
    },
  };
}
