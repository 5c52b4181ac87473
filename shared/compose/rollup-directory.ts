import { RollupDirectory } from '../cold/rollup-directory';
import { GRAINS_MS, GRAINS_WITH_MINUTES_MS } from '../cold/rollup-span';
import type { RuntimeSettings } from '../platform/settings';
import type { Table } from '../platform/table';

/**
 * Makes the directory of rollups, for the grains that a stage stores. Returns undefined if it stores none.
 */
export function rollupDirectory(
  table: Table,
  { rollups, retention }: Pick<RuntimeSettings, 'rollups' | 'retention'>,
): RollupDirectory | undefined {
  if (rollups === 'off') return undefined;
  return new RollupDirectory(table, retention, rollups === 'minutes' ? GRAINS_WITH_MINUTES_MS : GRAINS_MS);
}
