import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteItemCommand,
  type DeleteItemCommandInput,
  PutItemCommand,
  TransactionConflictException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { metaKeys } from '../platform/keys';
import type { MetaKind } from '../platform/names';
import { getItem, type Item, queryAll, queryItems, succeeds, type Table, tryWrite } from '../platform/table';

/** Kinds of documents. Each kind is one item collection per tenant. */
const DOCUMENT_KINDS = [
  'alerts',
  'open-alerts',
  'alert-logs',
  'checks',
  'hosts',
  'retired-hosts',
  'custom-identifiers',
  'services',
  'metadata',
  'graph-definitions',
  'graph-annotations',
  'metric-metadata',
  'receivers',
  'rule-groups',
  'silences',
  'monitors',
  'channels',
  'notification-groups',
  'downtimes',
  'alert-group-settings',
  'dashboards',
] as const satisfies readonly MetaKind[];
export type DocumentKind = (typeof DOCUMENT_KINDS)[number];

/** Maximum wait before retrying a write that lost a race with another write, in ms. */
const MAX_WAIT_MS = 200;
/**
 * Maximum number of attempts at a write whose condition keeps failing. Including waits, they take about 10 s, at most
 * 20 s; a request has 29 s.
 */
const MAX_ATTEMPTS = 100;

/**
 * Stores JSON documents of one kind. A write succeeds only if the document still has the revision that the writer
 * read. Revisions are random rather than counted, so that a document that was deleted and created again is never
 * mistaken for the one that was read.
 *
 *     pk kind#tenant   sk key   json: text   revision: UUID   expiresAt: seconds (only some kinds)
 *
 * Keys are ids and hashes, never bytes that a user chose (DESIGN.md, rule 7).
 */
export class Documents<T> {
  constructor(
    private readonly table: Table,
    private readonly kind: DocumentKind,
    /** Returns when a document expires, as Unix time in seconds. @default documents do not expire */
    private readonly expiryOf?: (value: T) => number,
  ) {}

  async get(tenantId: Id, key: string): Promise<T | undefined> {
    return (await this.read(tenantId, key))?.value;
  }

  /**
   * Yields the documents whose keys start with `prefix` and come after the key `after`, sorted by key.
   *
   * @param options.page maximum number of documents in one request to the table. @default as many as DynamoDB returns
   */
  async *list(
    tenantId: Id,
    {
      prefix,
      after,
      isDescending = false,
      page,
    }: { prefix?: string; after?: string; isDescending?: boolean; page?: number } = {},
  ) {
    const pk = metaKeys.documents(this.kind, tenantId);
    const items = queryAll(
      this.table,
      { pk, prefix },
      {
        ...(after !== undefined && { ExclusiveStartKey: metaKeys.document(this.kind, tenantId, after) }),
        ScanIndexForward: !isDescending,
        Limit: page,
      },
    );
    for await (const item of items) yield { key: item.sk!.S!, value: documentOf<T>(item) };
  }

  /** Returns all documents whose keys start with `prefix`, sorted by key. */
  async all(tenantId: Id, prefix = ''): Promise<T[]> {
    const range = { pk: metaKeys.documents(this.kind, tenantId), prefix };
    return (await queryItems(this.table, range)).map(documentOf<T>);
  }

  /**
   * Creates a document.
   *
   * @returns false when the key is taken
   */
  async create(tenantId: Id, key: string, value: T): Promise<boolean> {
    const input = this.putInput(tenantId, key, value, undefined);
    const isCreated = await outsideTransactions(() =>
      succeeds(this.table.client.send(new PutItemCommand(input))),
    );
    return isCreated || (await this.read(tenantId, key))?.revision === revisionOf(input);
  }

  /**
   * Creates or changes a document.
   *
   * @param decide returns the new value for the stored one (undefined if there is none); called again after
   *   each lost race
   * @returns the document that is stored after the call; undefined when there is none
   */
  async createOrChange(
    tenantId: Id,
    key: string,
    decide: (value: T | undefined) => T | undefined,
  ): Promise<T | undefined> {
    return this.createOrChangeWith(tenantId, key, (stored) => {
      const value = decide(stored);
      return value === undefined || value === stored ? undefined : { value, also: [] };
    });
  }

  /**
   * Creates or changes a document as {@link createOrChange} does, in one transaction with other items of the
   * table.
   *
   * @param decide returns the new value, and in `also` the other writes. If one of their conditions fails,
   *   nothing is written, and `decide` is called again
   * @throws when {@link MAX_ATTEMPTS} attempts fail, for example because a condition in `also` can never hold
   */
  async createOrChangeWith(
    tenantId: Id,
    key: string,
    decide: (
      value: T | undefined,
    ) => { readonly value: T; readonly also: readonly TransactWriteItem[] } | undefined,
  ): Promise<T | undefined> {
    let written: string | undefined;
    let waitMs = 5;
    for (let attempts = 0; ; attempts++) {
      const found = await this.read(tenantId, key);
      // The previous attempt did write this document. Its response was lost, the SDK retried, and the retry's
      // condition failed.
      if (found !== undefined && found.revision === written) return found.value;
      if (attempts === MAX_ATTEMPTS)
        throw new Error(
          `${this.kind} ${key} was not written in ${MAX_ATTEMPTS} attempts: other writes came first each time, or a condition of its transaction cannot hold`,
        );
      const next = decide(found?.value);
      if (next === undefined) return found?.value;
      const Put = this.putInput(tenantId, key, next.value, found?.revision);
      written = revisionOf(Put);
      const write =
        next.also.length === 0
          ? this.table.client.send(new PutItemCommand(Put))
          : this.table.client.send(new TransactWriteItemsCommand({ TransactItems: [{ Put }, ...next.also] }));
      if (await tryWrite(write)) return next.value;
      await sleep(Math.random() * waitMs);
      waitMs = Math.min(MAX_WAIT_MS, waitMs * 2);
    }
  }

  /**
   * Changes a document.
   *
   * @returns the changed document; undefined when there is none
   */
  change(tenantId: Id, key: string, change: (value: T) => T): Promise<T | undefined> {
    return this.createOrChange(tenantId, key, (value) => (value === undefined ? undefined : change(value)));
  }

  /** Removes a document. Returns it, or undefined when there was none. */
  async remove(tenantId: Id, key: string): Promise<T | undefined> {
    // If the response to the deletion is lost, the SDK's retry finds nothing to delete. So read the document first.
    const found = await this.read(tenantId, key);
    if (found === undefined) return undefined;
    const input: DeleteItemCommandInput = { ...this.itemAddress(tenantId, key), ReturnValues: 'ALL_OLD' };
    const { Attributes } = await outsideTransactions(() =>
      this.table.client.send(new DeleteItemCommand(input)),
    );
    return Attributes === undefined ? found.value : documentOf<T>(Attributes);
  }

  /**
   * Removes a document if it satisfies a condition.
   *
   * @returns false when the document stays
   */
  async removeIf(tenantId: Id, key: string, holds: (value: T) => boolean): Promise<boolean> {
    for (let waitMs = 5; ; waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
      const found = await this.read(tenantId, key);
      if (found === undefined) return true;
      if (!holds(found.value)) return false;
      const remove = new DeleteItemCommand({
        ...this.itemAddress(tenantId, key),
        ConditionExpression: 'revision = :revision',
        ExpressionAttributeValues: { ':revision': { S: found.revision } },
      });
      if (await tryWrite(this.table.client.send(remove))) return true;
      await sleep(Math.random() * waitMs);
    }
  }

  /** Returns the part of a transaction that creates a document. The transaction fails when the key is taken. */
  creation(tenantId: Id, key: string, value: T): TransactWriteItem {
    return { Put: this.putInput(tenantId, key, value, undefined) };
  }

  /** Returns the part of a transaction that replaces a document. The transaction fails when there is none. */
  replacement(tenantId: Id, key: string, value: T): TransactWriteItem {
    const { ExpressionAttributeValues: _, ...input } = this.putInput(tenantId, key, value, undefined);
    return { Put: { ...input, ConditionExpression: 'attribute_exists(pk)' } };
  }

  /** Returns the part of a transaction that removes a document. */
  removal(tenantId: Id, key: string): TransactWriteItem {
    return { Delete: this.itemAddress(tenantId, key) };
  }

  private itemAddress(tenantId: Id, key: string) {
    return { TableName: this.table.name, Key: metaKeys.document(this.kind, tenantId, key) };
  }

  private async read(tenantId: Id, key: string): Promise<{ value: T; revision: string } | undefined> {
    const item = await getItem(this.table, metaKeys.document(this.kind, tenantId, key));
    return item && { value: documentOf<T>(item), revision: item.revision!.S! };
  }

  private putInput(tenantId: Id, key: string, value: T, previous: string | undefined): DocumentPut {
    return {
      TableName: this.table.name,
      Item: {
        ...metaKeys.document(this.kind, tenantId, key),
        json: { S: JSON.stringify(value) },
        revision: { S: randomUUID() },
        ...(this.expiryOf && { expiresAt: { N: String(this.expiryOf(value)) } }),
      },
      ConditionExpression: previous === undefined ? 'attribute_not_exists(pk)' : 'revision = :previous',
      ExpressionAttributeValues: previous === undefined ? undefined : { ':previous': { S: previous } },
    };
  }
}

type DocumentPut = NonNullable<TransactWriteItem['Put']>;

function revisionOf({ Item }: DocumentPut): string {
  return Item!.revision!.S!;
}

/** Writes one document. Retries for as long as a transaction is changing it. */
async function outsideTransactions<R>(write: () => Promise<R>): Promise<R> {
  for (let waitMs = 5; ; waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)) {
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof TransactionConflictException)) throw error;
    }
    await sleep(Math.random() * waitMs);
  }
}

function documentOf<T>(item: Item): T {
  return JSON.parse(item.json!.S!) as T;
}
