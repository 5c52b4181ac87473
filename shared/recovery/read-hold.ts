import { log } from '../platform/log';
import type { RecoveryTable } from './recovery-table';

/**
 * Time limit of the write with its retries, ms. Without a limit, the SDK retries a throttled write for 14 s.
 */
const HINT_MS = 1_000;

/**
 * Asks all readers to yield to other work until `untilMs`, ms since epoch (query/read-governor.ts). This is
 * only a hint, so a failure is logged and not thrown.
 */
export async function holdReads(table: Pick<RecoveryTable, 'putPressed'>, untilMs: number): Promise<void> {
  await table
    .putPressed(untilMs, AbortSignal.timeout(HINT_MS))
    .catch((error) => log.warn('readers could not be asked to wait', { error: error as Error }));
}
