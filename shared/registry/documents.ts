import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import { type Item, queryAll, succeeds, type Table } from '../platform/table';

/** What the registry keeps, a kind an item collection of each tenant. */
export const DOCUMENT_KINDS = [
  'hosts',
  'retired-hosts',
  'custom-identifiers',
  'services',
  'metadata',
  'graph-definitions',
  'graph-annotations',
] as const;
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** Longest wait before a write that lost against another is tried again. */
const MAX_WAIT_MS = 200;

/**
 * JSON documents of one kind. Concurrent writers are settled by a revision: who read an older one reads again. It is
 * random, not counted, so that a document deleted and made again is never taken for the one that was read.
 *
 *     pk kind#tenant   sk key   json: text   revision: UUID
 *
 * Keys are ids and hashes, never bytes that a user chose (design.md, rule 7).
 */
export class Documents<T> {
  constructor(
    private readonly table: Table,
    private readonly kind: DocumentKind,
  ) {}

  async get(tenantId: Id, key: string): Promise<T | undefined> {
    return (await this.read(tenantId, key))?.value;
  }

  /** Those whose keys begin with `prefix` and come after the key `after`, by key. */
  async *list(tenantId: Id, { prefix = '', after }: { prefix?: string; after?: string } = {}) {
    const pk = { S: metaKeys.documents(this.kind, tenantId) };
    const items = queryAll(this.table, {
      KeyConditionExpression: prefix === '' ? 'pk = :pk' : 'pk = :pk AND begins_with(sk, :prefix)',
      ExpressionAttributeValues: { ':pk': pk, ...(prefix === '' ? {} : { ':prefix': { S: prefix } }) },
      ...(after === undefined ? {} : { ExclusiveStartKey: { pk, sk: { S: after } } }),
    });
    for await (const item of items) yield { key: item.sk!.S!, value: documentOf<T>(item) };
  }

  /** Puts a document that is not there. @returns whether it was not */
  create(tenantId: Id, key: string, value: T): Promise<boolean> {
    return this.put(tenantId, key, value, undefined);
  }

  /**
   * Brings a document to what `decide` makes of it, or of `undefined` where there is none. It is asked again whenever
   * another writer came first.
   *
   * @returns the document as it is then; undefined when there is none and none was made
   */
  async settle(
    tenantId: Id,
    key: string,
    decide: (value: T | undefined) => T | undefined,
  ): Promise<T | undefined> {
    for (let waitMs = 5; ; waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
      const found = await this.read(tenantId, key);
      const next = decide(found?.value);
      if (next === undefined || next === found?.value) return found?.value;
      if (await this.put(tenantId, key, next, found?.revision)) return next;
      await sleep(Math.random() * waitMs);
    }
  }

  /** Changes a document. @returns it as changed; undefined when there is none */
  change(tenantId: Id, key: string, change: (value: T) => T): Promise<T | undefined> {
    return this.settle(tenantId, key, (value) => (value === undefined ? undefined : change(value)));
  }

  /** @returns what was removed; undefined when there was nothing */
  async remove(tenantId: Id, key: string): Promise<T | undefined> {
    const { Attributes } = await this.table.client.send(
      new DeleteItemCommand({
        TableName: this.table.name,
        Key: metaKeys.document(this.kind, tenantId, key),
        ReturnValues: 'ALL_OLD',
      }),
    );
    return Attributes && documentOf<T>(Attributes);
  }

  private async read(tenantId: Id, key: string): Promise<{ value: T; revision: string } | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.document(this.kind, tenantId, key),
        ConsistentRead: true,
      }),
    );
    return Item && { value: documentOf<T>(Item), revision: Item.revision!.S! };
  }

  private put(tenantId: Id, key: string, value: T, previous: string | undefined): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: {
            ...metaKeys.document(this.kind, tenantId, key),
            json: { S: JSON.stringify(value) },
            revision: { S: randomUUID() },
          },
          ConditionExpression: previous === undefined ? 'attribute_not_exists(pk)' : 'revision = :previous',
          ExpressionAttributeValues: previous === undefined ? undefined : { ':previous': { S: previous } },
        }),
      ),
    );
  }
}

function documentOf<T>(item: Item): T {
  return JSON.parse(item.json!.S!) as T;
}
