import { type AttributeValue, paginateScan } from '@aws-sdk/client-dynamodb';
import { expiresAtOf } from '../catalogue/lifetimes';
import { mapLimited } from '../platform/concurrency';
import { metaKeys } from '../platform/keys';
import type { MetaKind } from '../platform/names';
import { getItem, type Item, putItem, type Table, updateItemIf } from '../platform/table';

/** Kinds of items whose expiry depends on the stage's retention. */
const KINDS: readonly MetaKind[] = ['layouts', 'sources', 'changes', 'index', 'directory', 'rolled'];
/**
 * Delay between raising the retention and extending the first expiries, in ms. During the delay, instances of the
 * previous deployment may still write items with the old retention.
 */
const SETTLED_MS = 30 * 60_000;
const PARALLEL = 32;

/** Progress of extending expiries after the retention was raised. */
interface Raise {
  readonly sinceMs: number;
  /** Key after which the scan continues. */
  readonly after?: Record<string, AttributeValue>;
}

/**
 * Extends the expiry of items when the stage's retention is raised. Items of the catalogue and of the
 * archive's directories are given their expiry when they are written. After a raise, the samples that an item
 * describes are kept for longer than the item, so {@link renew} extends the item's expiry. It has up to 30
 * days to do so, because items are kept for 30 days beyond the retention.
 *
 *     pk retention   sk stage   retentionMs: basis of expiries   raise: JSON, while expiries are extended
 */
export class Lifetimes {
  constructor(
    private readonly meta: Table,
    private readonly stageRetentionMs: number,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Returns the retention on which the expiry of all items is based, in ms. After a raise, it is less than the stage's
   * retention until all items have been extended.
   */
  async retentionMs(): Promise<number> {
    return (await this.read()).retentionMs;
  }

  /**
   * Extends the expiry of items after the retention was raised, page by page.
   *
   * @param hasTime called before each page; if it returns false, the call ends, and a later call continues
   * @returns the number of items extended
   */
  async renew(hasTime: () => boolean): Promise<number> {
    const { retentionMs, raise } = await this.read();
    // If the retention was lowered, there is nothing to do: older items live longer than needed.
    if (retentionMs >= this.stageRetentionMs) {
      if (retentionMs > this.stageRetentionMs || raise !== undefined) await this.note(this.stageRetentionMs);
      return 0;
    }
    const { sinceMs, after } = raise ?? { sinceMs: this.now() };
    if (raise === undefined) await this.note(retentionMs, { sinceMs });
    if (this.now() - sinceMs < SETTLED_MS) return 0;
    return this.putOff(this.stageRetentionMs - retentionMs, retentionMs, { sinceMs, after }, hasTime);
  }

  private async putOff(
    byMs: number,
    retentionMs: number,
    { sinceMs, after }: Raise,
    hasTime: () => boolean,
  ): Promise<number> {
    let count = 0;
    // No item needs a later expiry than this one, which an item about today's samples would be given.
    const lastSeconds = expiresAtOf(this.now(), this.stageRetentionMs);
    const pages = paginateScan(
      { client: this.meta.client, startingToken: after },
      {
        TableName: this.meta.name,
        // A consistent read, so that the scan misses no item: an item that it misses expires too early.
        ConsistentRead: true,
        FilterExpression: `expiresAt < :last AND (${KINDS.map((_, i) => `begins_with(pk, :kind${i})`).join(' OR ')})`,
        ExpressionAttributeValues: {
          ':last': { N: String(lastSeconds) },
          ...Object.fromEntries(KINDS.map((kind, i) => [`:kind${i}`, { S: `${kind}#` }])),
        },
        ProjectionExpression: 'pk, sk, expiresAt',
      },
    );
    for await (const { Items = [], LastEvaluatedKey } of pages) {
      const isPutOff = await mapLimited(Items, PARALLEL, ({ pk, sk, expiresAt }) => {
        const seconds = Math.min(Number(expiresAt!.N) + Math.ceil(byMs / 1000), lastSeconds);
        return updateItemIf(this.meta, {
          Key: { pk: pk!, sk: sk! },
          UpdateExpression: 'SET expiresAt = :seconds',
          // An item that was written in the meantime already has the new expiry.
          ConditionExpression: 'expiresAt = :former',
          ExpressionAttributeValues: { ':seconds': { N: String(seconds) }, ':former': expiresAt! },
        });
      });
      count += isPutOff.filter(Boolean).length;
      if (LastEvaluatedKey === undefined) break;
      await this.note(retentionMs, { sinceMs, after: LastEvaluatedKey });
      if (!hasTime()) return count;
    }
    await this.note(this.stageRetentionMs);
    return count;
  }

  private async read(): Promise<{ readonly retentionMs: number; readonly raise: Raise | undefined }> {
    const item = await getItem(this.meta, metaKeys.retention);
    if (item !== undefined) return notedOf(item);
    // A new stage does not have this item yet.
    await this.note(this.stageRetentionMs);
    return { retentionMs: this.stageRetentionMs, raise: undefined };
  }

  private async note(retentionMs: number, raise?: Raise): Promise<void> {
    await putItem(this.meta, {
      ...metaKeys.retention,
      retentionMs: { N: String(retentionMs) },
      ...(raise !== undefined && { raise: { S: JSON.stringify(raise) } }),
    });
  }
}

function notedOf({ retentionMs, raise }: Item): { retentionMs: number; raise: Raise | undefined } {
  return {
    retentionMs: Number(retentionMs!.N),
    raise: raise === undefined ? undefined : (JSON.parse(raise.S!) as Raise),
  };
}
