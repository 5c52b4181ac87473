import { log } from '../platform/log';
import type { RecoveryTable } from './recovery-table';

/** Retries included. The SDK's own take 14 s of a table that throttles. */
const HINT_MS = 1_000;

/**
 * Tells readers to let other work go first until then, ms since epoch (query/read-governor.ts). Only a hint, which ends by
 * itself: a failure is logged, and whoever asks goes on.
 */
export async function holdReads(table: Pick<RecoveryTable, 'putPressed'>, untilMs: number): Promise<void> {
  await table
    .putPressed(untilMs, AbortSignal.timeout(HINT_MS))
    .catch((error) => log.warn('readers are not told to wait', { error: error as Error }));
}
