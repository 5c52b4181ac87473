import {
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import type { Id } from '../model/id';
import { type ItemKey, metaKeys } from '../platform/keys';
import { TABLE_KEYS } from '../platform/names';
import { type Item, queryAll, queryItems, succeeds, type Table, wins } from '../platform/table';
import type { GroupKind } from './evaluation';
import { decodeJson, decodeState, type GroupState } from './group-state';
import type { QuietSpan } from './ingest-quiet';
import type { EventBatch, NotificationBatch } from './notification';

/** A group's slot, ready to be committed. */
export interface SlotCommit {
  readonly tenantId: Id;
  /** @default 'rule' */
  readonly kind?: GroupKind;
  readonly group: Id;
  /** The slot of the state that this one follows; undefined for a group's first. */
  readonly afterMs: number | undefined;
  /** The slot that is done. */
  readonly slotMs: number;
  /** {@link encodeState}; undefined removes the state of a removed group. */
  readonly state: Uint8Array | undefined;
  /** {@link encodeJson} of {@link NotificationBatch}es. */
  readonly batches: readonly Uint8Array[];
}

/** A batch of the outbox. */
export interface OutboxItem {
  readonly key: string;
  readonly tenantId: Id;
  readonly batch: NotificationBatch | EventBatch;
  /** How often it was sent in vain. */
  readonly attempts: number;
  /** When the batch is sent again, ms since epoch. */
  readonly dueMs: number;
  /** Addresses of the receivers that are done with it. */
  readonly taken: readonly string[];
  readonly stored: Item;
}

/** What a run of the evaluator leaves for `ops status`. */
export interface StoredReport {
  /** When the run ended, ms since epoch. */
  readonly atMs: number;
  readonly groups: number;
  readonly failingRules: number;
  readonly failedGroups: number;
  readonly dropped: number;
  readonly outboxAgeMs: number;
  readonly quietMs: number;
  readonly lagMs: number;
}

/** How long a batch waits for its receivers, s. */
const OUTBOX_SECONDS = 86_400;
/** How long a dead letter is shown, s. */
const UNDELIVERED_SECONDS = 7 * 86_400;
/** Most batches of a commit: a transaction takes 100 items, and the state is one. */
export const MAX_BATCHES = 99;

/**
 * What the last evaluated slot left of each group, and the outbox of notifications. A slot is committed in one transaction, whose
 * condition is the slot before: of two evaluators, one commits, and its notifications are the only ones.
 *
 *     pk rule-states#tenant   sk group                     slot: ms   state: zstd of JSON (group-state.ts)
 *     pk monitor-states#tenant   sk monitor id            the same of a monitor (monitors/monitor-states.ts)
 *     pk rule-outbox          sk slot#tenant#group#part    batch: zstd of JSON (notification.ts)   expiresAt: s   attempts   dueMs   taken: addresses of targets
 *     pk rule-undelivered#tenant   sk as in the outbox      the same: a dead letter
 *     pk rule-run             sk run                       run: id   untilMs
 *     pk rule-run             sk quiet                     json: QuietSpan
 *     pk rule-run             sk report                    json: StoredReport
 */
export class RuleStates {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  async get(tenantId: Id, group: Id): Promise<GroupState | undefined> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({
        TableName: this.table.name,
        Key: metaKeys.ruleState(tenantId, group),
        ConsistentRead: true,
      }),
    );
    return Item && decodeState(Item.state!.B!);
  }

  /** The states of a tenant's groups, by the group's id. */
  async list(tenantId: Id): Promise<Map<Id, GroupState>> {
    const items = await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.ruleStates(tenantId) } },
    });
    return new Map(items.map((item) => [item.sk!.S!, decodeState(item.state!.B!)]));
  }

  /** @returns false when another evaluator, or who closes an alert, was first: then nothing is written */
  async commit(slot: SlotCommit): Promise<boolean> {
    const { client } = this.table;
    const items = this.itemsOf(slot);
    const { Put, Delete } = items[0]!;
    if (items.length > 1) return wins(client.send(new TransactWriteItemsCommand({ TransactItems: items })));
    if (Put !== undefined) return wins(client.send(new PutItemCommand(Put)));
    return wins(client.send(new DeleteItemCommand(Delete!)));
  }

  private itemsOf({
    tenantId,
    kind,
    group,
    afterMs,
    slotMs,
    state,
    batches,
  }: SlotCommit): TransactWriteItem[] {
    const place = { TableName: this.table.name };
    const key =
      kind === 'monitor' ? metaKeys.monitorState(tenantId, group) : metaKeys.ruleState(tenantId, group);
    const condition = {
      ConditionExpression: afterMs === undefined ? 'attribute_not_exists(pk)' : 'slot = :after',
      ...(afterMs !== undefined && { ExpressionAttributeValues: { ':after': { N: String(afterMs) } } }),
    };
    return [
      state === undefined
        ? { Delete: { ...place, Key: key, ...condition } }
        : {
            Put: {
              ...place,
              Item: { ...key, slot: { N: String(slotMs) }, state: { B: state } },
              ...condition,
            },
          },
      ...batches.map((batch, part) => this.outboxPut(tenantId, group, slotMs, batch, part)),
    ];
  }

  /** The part of a transaction that puts a batch into the outbox. */
  outboxPut(tenantId: Id, group: Id, slotMs: number, batch: Uint8Array, part = 0): TransactWriteItem {
    return {
      Put: {
        TableName: this.table.name,
        Item: {
          ...metaKeys.outboxBatch(slotMs, tenantId, group, part),
          batch: { B: batch },
          [TABLE_KEYS.ttl]: { N: String(Math.ceil(this.now() / 1000) + OUTBOX_SECONDS) },
        },
      },
    };
  }

  /** The last span in which tenants posted next to nothing. */
  async quiet(): Promise<QuietSpan | undefined> {
    return (await this.json(metaKeys.ruleQuiet)) as QuietSpan | undefined;
  }

  async putQuiet(span: QuietSpan): Promise<void> {
    await this.putJson(metaKeys.ruleQuiet, span);
  }

  /** What the last run of the evaluator did. */
  async report(): Promise<StoredReport | undefined> {
    return (await this.json(metaKeys.ruleReport)) as StoredReport | undefined;
  }

  async putReport(report: StoredReport): Promise<void> {
    await this.putJson(metaKeys.ruleReport, report);
  }

  private async json(Key: ItemKey): Promise<unknown> {
    const { Item } = await this.table.client.send(
      new GetItemCommand({ TableName: this.table.name, Key, ConsistentRead: true }),
    );
    return Item && JSON.parse(Item.json!.S!);
  }

  private async putJson(key: ItemKey, value: object): Promise<void> {
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: { ...key, json: { S: JSON.stringify(value) } },
      }),
    );
  }

  /** The batches that wait, the oldest slot first. */
  async outbox(): Promise<OutboxItem[]> {
    const items = await queryItems(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.ruleOutbox } },
    });
    return items.map(outboxItem);
  }

  /** Notes that not every receiver has taken a batch. */
  async putOff({ stored, attempts, dueMs, taken }: OutboxItem): Promise<void> {
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...stored,
          attempts: { N: String(attempts) },
          dueMs: { N: String(dueMs) },
          ...(taken.length > 0 && { taken: { SS: [...taken] } }),
        },
      }),
    );
  }

  /** Moves a batch out of the outbox, to the dead letters of its tenant, where it stays for a week. */
  async giveUp(item: OutboxItem): Promise<void> {
    const { tenantId, key, attempts, taken } = item;
    await this.table.client.send(
      new PutItemCommand({
        TableName: this.table.name,
        Item: {
          ...item.stored,
          ...metaKeys.undelivered(tenantId, key),
          attempts: { N: String(attempts) },
          ...(taken.length > 0 && { taken: { SS: [...taken] } }),
          [TABLE_KEYS.ttl]: { N: String(Math.ceil(this.now() / 1000) + UNDELIVERED_SECONDS) },
        },
      }),
    );
    await this.sent(key);
  }

  /** A tenant's dead letters, the newest first. @param limit most of them */
  async undelivered(tenantId: Id, limit: number): Promise<OutboxItem[]> {
    const items = queryAll(this.table, {
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: metaKeys.undeliveredOf(tenantId) } },
      ScanIndexForward: false,
      Limit: limit,
    });
    const found: OutboxItem[] = [];
    for await (const item of items) {
      found.push(outboxItem(item));
      if (found.length === limit) break;
    }
    return found;
  }

  /** Removes a batch that was sent. */
  async sent(key: string): Promise<void> {
    await this.table.client.send(
      new DeleteItemCommand({
        TableName: this.table.name,
        Key: { pk: { S: metaKeys.ruleOutbox }, sk: { S: key } },
      }),
    );
  }

  /**
   * Begins a run of the evaluator, unless one runs: two would do the same work, and the slower one's samples would win.
   *
   * @param run a random id
   * @param untilMs when the run has ended, however it ended
   */
  async beginRun(run: string, untilMs: number): Promise<boolean> {
    return succeeds(
      this.table.client.send(
        new PutItemCommand({
          TableName: this.table.name,
          Item: { ...metaKeys.ruleRun, run: { S: run }, untilMs: { N: String(untilMs) } },
          ConditionExpression: 'attribute_not_exists(pk) OR untilMs < :now',
          ExpressionAttributeValues: { ':now': { N: String(this.now()) } },
        }),
      ),
    );
  }

  async endRun(run: string): Promise<void> {
    await succeeds(
      this.table.client.send(
        new DeleteItemCommand({
          TableName: this.table.name,
          Key: metaKeys.ruleRun,
          ConditionExpression: 'run = :run',
          ExpressionAttributeValues: { ':run': { S: run } },
        }),
      ),
    );
  }
}

function outboxItem(item: Item): OutboxItem {
  return {
    key: item.sk!.S!,
    tenantId: metaKeys.parseOutboxBatch(item.sk!.S!),
    batch: decodeJson(item.batch!.B!) as OutboxItem['batch'],
    attempts: Number(item.attempts?.N ?? 0),
    dueMs: Number(item.dueMs?.N ?? 0),
    taken: item.taken?.SS ?? [],
    stored: item,
  };
}
