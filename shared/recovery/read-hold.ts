import { log } from '../platform/log';
import type { RecoveryTable } from './recovery-table';

/**
 * How long a hold makes reads yield to other work, ms. It is longer than the minute between two looks of the flusher,
 * so that the flusher can renew the hold before it ends.
 */
const HOLD_MS = 90_000;
/**
 * Time limit of the write with its retries, ms. Without a limit, the SDK retries a throttled write for 14 s.
 */
const HINT_MS = 1_000;

/**
 * Asks all readers to yield to other work for {@link HOLD_MS} (query/read-governor.ts). This is only a hint, so a
 * failure is logged and not thrown.
 */
export async function holdReads(table: Pick<RecoveryTable, 'putHold'>, nowMs: number): Promise<void> {
  await table
    .putHold('pressed', nowMs + HOLD_MS, AbortSignal.timeout(HINT_MS))
    .catch((error) => log.warn('readers could not be asked to wait', { error: error as Error }));
}
