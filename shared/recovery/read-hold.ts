import { log } from '../platform/log';
import type { RecoveryTable } from './recovery-table';

/** Time limit, including retries. Without it, the SDK retries for 14 s if the table throttles. */
const HINT_MS = 1_000;

/**
 * Asks readers to let other work go first until `untilMs`, ms since epoch (query/read-governor.ts). This is
 * only a hint that ends by itself, so a failure is logged and not thrown.
 */
export async function holdReads(table: Pick<RecoveryTable, 'putPressed'>, untilMs: number): Promise<void> {
  await table
    .putPressed(untilMs, AbortSignal.timeout(HINT_MS))
    .catch((error) => log.warn('readers could not be asked to wait', { error: error as Error }));
}
