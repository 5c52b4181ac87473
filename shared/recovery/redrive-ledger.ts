import { metaKeys } from '../platform/keys';
import { deleteItem, putItem, queryItems, type Table } from '../platform/table';
import type { RecoveryTable } from './recovery-table';

/** A ledger entry. It states that the records of an object may have been appended to memory. */
export interface RedriveEntry {
  /** The last complete append. Undefined if an append has begun, but may not have finished. */
  readonly appended:
    | {
        /** The highest watermark of any shard after the append, in ms. */
        readonly watermarkMs: number;
        /** Number of times that any loss had been noticed before the append (recovery-table.ts). */
        readonly notices: number;
      }
    | undefined;
  /** Number of recovery steps since the append in which a store refused the records: see {@link redriveLost}. */
  readonly refusals: number;
}

/** Progress of the flushers and the ingester. */
export interface RedriveProgress {
  /** The flushed-until time: every sample that arrived earlier has left memory, in ms; 0 if unknown. */
  readonly flushedUntilMs: number;
  /** The highest watermark of any shard, in ms. */
  readonly watermarkMs: number;
  /** Number of times that any loss has been noticed so far (recovery-table.ts). */
  readonly notices: number;
}

/** How long an entry is kept, in seconds: longer than the 90 days for which quarantine keeps an object. */
const ENTRY_TTL_S = 100 * 86_400;
/** Stored as the number of notices while {@link RedriveEntry.appended} is undefined. */
const NOT_APPENDED = -1;

/**
 * Remembers the objects whose records may have been appended to memory, until the objects are removed. The ledger's
 * items are stored in the meta table, next to the state of recovery:
 *
 *     pk recovery   sk redriven#object key   watermarkMs, notices, refusals: see RedriveEntry   expiresAt: seconds
 */
export class TableRedriveLedger {
  /** @param lanes number of flusher lanes, as deployed */
  constructor(
    private readonly table: Table,
    private readonly recovery: RecoveryTable,
    private readonly lanes: number,
  ) {}

  /** Reads the entry of each object, by the object's key. */
  async entries(): Promise<ReadonlyMap<string, RedriveEntry>> {
    const prefix = metaKeys.redrivenPrefix;
    const items = await queryItems(this.table, { pk: metaKeys.recovery, prefix });
    return new Map(
      items.map(({ sk, watermarkMs, notices, refusals }) => [
        sk!.S!.slice(prefix.length),
        {
          appended:
            Number(notices!.N) === NOT_APPENDED
              ? undefined
              : { watermarkMs: Number(watermarkMs!.N), notices: Number(notices!.N) },
          refusals: Number(refusals?.N ?? 0),
        },
      ]),
    );
  }

  async put(key: string, { appended, refusals }: RedriveEntry): Promise<void> {
    const { watermarkMs, notices } = appended ?? { watermarkMs: 0, notices: NOT_APPENDED };
    await putItem(this.table, {
      ...metaKeys.redriven(key),
      watermarkMs: { N: String(watermarkMs) },
      notices: { N: String(notices) },
      refusals: { N: String(refusals) },
      expiresAt: { N: String(Math.floor(Date.now() / 1000) + ENTRY_TTL_S) },
    });
  }

  async delete(key: string): Promise<void> {
    await deleteItem(this.table, metaKeys.redriven(key));
  }

  async progress(): Promise<RedriveProgress> {
    const [flushedUntilMs, watermarks, loss] = await Promise.all([
      this.recovery.flushedUntilMs(this.lanes),
      this.recovery.watermarks(),
      this.recovery.loss(),
    ]);
    return { flushedUntilMs, watermarkMs: Math.max(0, ...watermarks.values()), notices: loss?.notices ?? 0 };
  }
}
