import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { succeeds, type Table } from '../platform/table';

/** How long an import may put samples after it marked its tenant. */
const MARKED_MS = 15 * 60_000;
/** A mark is written again when less of its time is left. */
const RENEWED_MS = 10 * 60_000;
/** A mark stays for longer than any stream remembers. */
const KEPT_MS = 400 * 86_400_000;

/**
 * Until when operators imported samples of a tenant. Imported samples may be of any age, so where memory may lack what arrived
 * in that time, a range of any age may lack samples; without an import only a range of the last `maxSampleAge` may.
 *
 *     pk imports#tenant   sk until   untilMs: number   expiresAt: seconds
 */
export class Imports {
  private readonly marked = new Map<Id, number>();

  constructor(private readonly table: Table) {}

  /** Marks a tenant before samples of any age are put into its stream. */
  async mark(tenantId: Id, nowMs: number): Promise<void> {
    if ((this.marked.get(tenantId) ?? 0) > nowMs + RENEWED_MS) return;
    const untilMs = nowMs + MARKED_MS;
    const expiresAt = Math.ceil((nowMs + KEPT_MS) / 1000);
    const put = new PutItemCommand({
      TableName: this.table.name,
      Item: {
        ...metaKeys.imports(tenantId),
        untilMs: { N: String(untilMs) },
        expiresAt: { N: String(expiresAt) },
      },
      ConditionExpression: 'attribute_not_exists(pk) OR untilMs < :until',
      ExpressionAttributeValues: { ':until': { N: String(untilMs) } },
    });
    await succeeds(this.table.client.send(put));
    this.marked.set(tenantId, untilMs);
  }

  /** Samples of any age may have arrived until then, ms since epoch; 0 when none were ever imported. */
  async untilMs(tenantId: Id): Promise<number> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.imports(tenantId),
        ConsistentRead: true,
      }),
    );
    return Number(Item?.untilMs?.N ?? 0);
  }
}
