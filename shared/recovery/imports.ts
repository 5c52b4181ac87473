import { DAY_MS } from '../model/duration';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { getItem, putItemIf, type Table } from '../platform/table';

/**
 * An import writes an item for its tenant before it puts samples into the stream. For this long after the write, in ms,
 * it may put samples there.
 */
const NOTED_MS = 15 * 60_000;
/** An import writes the tenant's item again when less than this time is left, in ms. */
const RENEWED_MS = 10 * 60_000;
/** How long the table keeps a tenant's item, in ms: longer than any stream keeps records. */
const TTL_MS = 400 * DAY_MS;

/**
 * Records the time until which imported samples of a tenant may arrive. Imported samples may be of any age; posted
 * samples are at most `maxSampleAge` old. So if memory has lost samples that arrived during an import, queries of any
 * time range may lack samples. After any other loss, only queries of recent ranges may lack any.
 *
 *     pk imports#tenant   sk until   untilMs: number   expiresAt: seconds
 */
export class Imports {
  private readonly noted = new Map<Id, number>();

  constructor(private readonly table: Table) {}

  /**
   * Notes that imported samples may arrive during the next {@link NOTED_MS}. Call it before putting them into the
   * stream.
   */
  async note(tenantId: Id, nowMs: number): Promise<void> {
    if ((this.noted.get(tenantId) ?? 0) > nowMs + RENEWED_MS) return;
    const untilMs = nowMs + NOTED_MS;
    const expiresAt = Math.ceil((nowMs + TTL_MS) / 1000);
    await putItemIf(this.table, {
      Item: {
        ...metaKeys.imports(tenantId),
        untilMs: { N: String(untilMs) },
        expiresAt: { N: String(expiresAt) },
      },
      ConditionExpression: 'attribute_not_exists(pk) OR untilMs < :until',
      ExpressionAttributeValues: { ':until': { N: String(untilMs) } },
    });
    this.noted.set(tenantId, untilMs);
  }

  /**
   * Returns the time until which imported samples may arrive or have arrived, as Unix time in ms; 0 if there was no
   * import.
   */
  async untilMs(tenantId: Id): Promise<number> {
    const item = await getItem(this.table, metaKeys.imports(tenantId));
    return Number(item?.untilMs?.N ?? 0);
  }
}
