import { RollupDirectory } from '../cold/rollup-directory';
import type { RuntimeSettings } from '../platform/settings';
import type { Table } from '../platform/table';

/** Makes the directory of rollups. Returns undefined if the stage stores no rollups. */
export function rollupDirectory(
  table: Table,
  { rollups, retention }: Pick<RuntimeSettings, 'rollups' | 'retention'>,
): RollupDirectory | undefined {
  return rollups === 'off' ? undefined : new RollupDirectory(table, retention);
}
