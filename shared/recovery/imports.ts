import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { succeeds, type Table } from '../platform/table';

/** How long a mark lasts. An import may put samples for this long after it marked its tenant. */
const MARKED_MS = 15 * 60_000;
/** A mark with less than this time left is renewed. */
const RENEWED_MS = 10 * 60_000;
/** How long a mark's item is kept: longer than the retention of any stream. */
const KEPT_MS = 400 * DAY_MS;

/**
 * Records, for each tenant, the time until which samples that operators import may arrive. Imported samples
 * may be of any age. So if memory may have lost what arrived during an import, a query of any time range may
 * lack samples. Without an import, only ranges within the last `maxSampleAge` are affected.
 *
 *     pk imports#tenant   sk until   untilMs: number   expiresAt: seconds
 */
export class Imports {
  private readonly marked = new Map<Id, number>();

  constructor(private readonly table: Table) {}

  /** Marks a tenant. Call it before putting imported samples into the stream. */
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

  /**
   * Returns the end of the time in which samples of any age may have arrived, ms since epoch; 0 without an
   * import.
   */
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
