import { DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { metaKeys } from '../platform/keys';
import { queryAll, type Table } from '../platform/table';
import type { RecoveryTable } from './recovery-table';
import type { RedriveLedger, RedriveMark, RedriveProgress } from './redrive';

/** How long a mark is kept, in seconds: longer than the 90 days for which quarantine keeps an object. */
const MARK_TTL_S = 100 * 86_400;

/**
 * The {@link RedriveLedger} in the meta table, next to the state of recovery. An item exists while the
 * records of an object have been appended, and the object has not been removed:
 *
 *     pk recovery   sk redriven#object key   watermarkMs, notices: see RedriveMark   expiresAt: seconds
 */
export class TableRedriveLedger implements RedriveLedger {
  /** @param lanes number of flusher lanes, as deployed */
  constructor(
    private readonly table: Table,
    private readonly recovery: RecoveryTable,
    private readonly lanes: number,
  ) {}

  async marks(): Promise<ReadonlyMap<string, RedriveMark>> {
    const prefix = metaKeys.redrivenPrefix;
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.recovery }, ':prefix': { S: prefix } },
    });
    const marks = new Map<string, RedriveMark>();
    for await (const { sk, watermarkMs, notices } of items)
      marks.set(sk!.S!.slice(prefix.length), {
        watermarkMs: Number(watermarkMs!.N),
        notices: Number(notices!.N),
      });
    return marks;
  }

  async put(key: string, { watermarkMs, notices }: RedriveMark): Promise<void> {
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...metaKeys.redriven(key),
          watermarkMs: { N: String(watermarkMs) },
          notices: { N: String(notices) },
          expiresAt: { N: String(Math.floor(Date.now() / 1000) + MARK_TTL_S) },
        },
      }),
    );
  }

  async delete(key: string): Promise<void> {
    await this.table.client.send(
      new DeleteItemCommand({ TableName: this.table.name, Key: metaKeys.redriven(key) }),
    );
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
