import type { RecoveryTable } from './recovery-table';
import type { RedriveLedger, RedriveMark, RedriveProgress } from './redrive';

/** {@link RedriveLedger} in the recovery table. */
export class TableRedriveLedger implements RedriveLedger {
  /** @param lanes flusher lanes, as deployed */
  constructor(
    private readonly table: RecoveryTable,
    private readonly lanes: number,
  ) {}

  marks(): Promise<ReadonlyMap<string, RedriveMark>> {
    return this.table.redriveMarks();
  }

  put(key: string, mark: RedriveMark): Promise<void> {
    return this.table.putRedriveMark(key, mark);
  }

  delete(key: string): Promise<void> {
    return this.table.deleteRedriveMark(key);
  }

  async progress(): Promise<RedriveProgress> {
    const [flushedMs, watermarks, loss] = await Promise.all([
      this.table.flushedMs(this.lanes),
      this.table.watermarks(),
      this.table.loss(),
    ]);
    return { flushedMs, watermarkMs: Math.max(0, ...watermarks.values()), notices: loss?.notices ?? 0 };
  }
}
