import {
  DeleteItemCommand,
  PutItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import type { Id } from '../../model/id';
import { type ItemKey, metaKeys } from '../../platform/keys';
import { TABLE_KEYS } from '../../platform/names';
import {
  deleteItem,
  deleteItemIf,
  getItem,
  type Item,
  putItem,
  putItemIf,
  queryAll,
  queryItems,
  type Table,
  tryWrite,
} from '../../platform/table';
import { MAX_TICK_AHEAD_MS, type QuietPeriod } from './due-ticks';
import type { RunReport, TaskKind } from './evaluation';
import {
  type EventBatch,
  isEventBatch,
  type Notification,
  type NotificationBatch,
  type StoredBatch,
} from './notification';
import { decodeJson } from './task-states';

/** A completed tick of a task, ready to be committed. */
export interface TickCommit {
  readonly tenantId: Id;
  readonly kind: TaskKind;
  readonly task: Id;
  /** Tick of the stored state that this commit replaces; undefined for a task's first commit. */
  readonly afterMs: number | undefined;
  /** The completed tick, as Unix time in ms. */
  readonly tickMs: number;
  /** Result of {@link encodeJson}; undefined removes the state of a removed task. */
  readonly state: Uint8Array | undefined;
  /** {@link NotificationBatch}es and {@link EventBatch}es, each encoded by {@link encodeJson}. */
  readonly batches: readonly Uint8Array[];
}

/** Progress of a batch's delivery. */
export interface Delivery {
  /** Number of failed attempts. */
  readonly attempts: number;
  /** Time of the next attempt, as Unix time in ms. */
  readonly dueMs: number;
  /** Ids of the destinations that have accepted or permanently refused the batch. */
  readonly taken: readonly string[];
  /**
   * Why receivers permanently refused the batch. An undelivered batch also has the last failure of each receiver that
   * neither accepted nor refused it.
   */
  readonly refused: readonly string[];
  /**
   * Destinations that have taken only some of their requests: the id of each, and the id of the last request that it
   * accepted or permanently refused.
   *
   * @default none
   */
  readonly begun?: readonly (readonly [destination: string, request: string])[];
}

export interface OutboxItem<Events extends EventBatch = EventBatch> extends Delivery {
  readonly key: string;
  readonly tenantId: Id;
  readonly batch: StoredBatch<Events>;
  /** Number of notifications or events of the stored batch that cannot be read. `batch` has the others. @default 0 */
  readonly damaged?: number;
  /** When the table removes the item, as Unix time in ms. */
  readonly expiresMs: number;
  readonly stored: Item;
}

/** Report of an evaluator run, shown by `ops status`. */
export interface StoredReport extends Omit<RunReport, 'began'> {
  /** When the run ended, as Unix time in ms. */
  readonly atMs: number;
}

/** Time after which an item of the outbox expires, in s. An hour earlier, its batch is given up (next-step.ts). */
const OUTBOX_SECONDS = 86_400;
/** How long an undelivered batch is kept, in s. */
const UNDELIVERED_SECONDS = 7 * 86_400;
/** Maximum number of batches in a commit. A transaction has at most 100 items, one of which is the state. */
const MAX_BATCHES = 99;
/** Number of notifications in a full batch. Batches are larger if a commit would have more than {@link MAX_BATCHES}. */
const MAX_BATCH = 200;

/**
 * Returns the number of notifications that go into one batch of a commit.
 *
 * @param kinds number of kinds of batches; the last batch of each may be partly filled
 */
export function notificationsPerBatch(notifications: number, kinds: number): number {
  return Math.max(MAX_BATCH, Math.ceil(notifications / (MAX_BATCHES - kinds + 1)));
}

/**
 * Stores what the evaluator writes: the state of each rule group and monitor after its last evaluated tick, the outbox
 * of notifications, and its runs. A tick is committed in one transaction on condition that the stored tick is the
 * previous one. If two evaluators race, only one commits, and only its notifications are sent.
 *
 *     pk rule-states#tenant, monitor-states#tenant   sk task   tick: ms   state: zstd of JSON (RuleGroupState, MonitorState)
 *     pk outbox               sk tick#tenant#task#part     batch: zstd of JSON (notification.ts)   expiresAt: s   delivery: JSON of Delivery, absent before the first attempt
 *     pk undelivered#tenant   sk as in the outbox          the attributes of its item in the outbox; it was given up
 *     pk evaluator            sk run                       run: id   untilMs
 *     pk evaluator            sk quiet                     json: QuietPeriod
 *     pk evaluator            sk report                    json: StoredReport
 *
 * `Events` is the type of the batches that monitors and checks write.
 */
export class EvaluatorStore<Events extends EventBatch = EventBatch> {
  constructor(
    private readonly table: Table,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Commits a tick.
   *
   * @returns false, writing nothing, when another writer came first: another evaluator, or a request that closed an
   *   alert
   */
  async commit(tick: TickCommit): Promise<boolean> {
    const { client } = this.table;
    const items = this.itemsOf(tick);
    const { Put, Delete } = items[0]!;
    if (items.length > 1)
      return tryWrite(client.send(new TransactWriteItemsCommand({ TransactItems: items })));
    if (Put !== undefined) return tryWrite(client.send(new PutItemCommand(Put)));
    return tryWrite(client.send(new DeleteItemCommand(Delete!)));
  }

  private itemsOf({
    tenantId,
    kind,
    task,
    afterMs,
    tickMs,
    state,
    batches,
  }: TickCommit): TransactWriteItem[] {
    const table = { TableName: this.table.name };
    const key = metaKeys.taskState(kind === 'rule' ? 'rule' : 'monitor', tenantId, task);
    const condition = {
      ConditionExpression: afterMs === undefined ? 'attribute_not_exists(pk)' : 'tick = :after',
      ...(afterMs !== undefined && { ExpressionAttributeValues: { ':after': { N: String(afterMs) } } }),
    };
    return [
      state === undefined
        ? { Delete: { ...table, Key: key, ...condition } }
        : {
            Put: {
              ...table,
              Item: { ...key, tick: { N: String(tickMs) }, state: { B: state } },
              ...condition,
            },
          },
      ...batches.map((batch, part) => this.outboxPut(tenantId, task, tickMs, batch, part)),
    ];
  }

  /** Returns the part of a transaction that puts a batch into the outbox. */
  outboxPut(tenantId: Id, task: Id, tickMs: number, batch: Uint8Array, part = 0): TransactWriteItem {
    return {
      Put: {
        TableName: this.table.name,
        Item: {
          ...metaKeys.outboxBatch(tickMs, tenantId, task, part),
          batch: { B: batch },
          [TABLE_KEYS.ttl]: { N: String(Math.ceil(this.now() / 1000) + OUTBOX_SECONDS) },
        },
      },
    };
  }

  /** Returns the last period in which tenants posted almost nothing. */
  async quiet(): Promise<QuietPeriod | undefined> {
    return (await this.json(metaKeys.evaluatorQuiet)) as QuietPeriod | undefined;
  }

  async putQuiet(period: QuietPeriod): Promise<void> {
    await this.putJson(metaKeys.evaluatorQuiet, period);
  }

  /** Returns the report of the evaluator's last run. */
  async report(): Promise<StoredReport | undefined> {
    return (await this.json(metaKeys.evaluatorReport)) as StoredReport | undefined;
  }

  async putReport(report: StoredReport): Promise<void> {
    await this.putJson(metaKeys.evaluatorReport, report);
  }

  private async json(Key: ItemKey): Promise<unknown> {
    const item = await getItem(this.table, Key);
    return item && JSON.parse(item.json!.S!);
  }

  private async putJson(key: ItemKey, value: object): Promise<void> {
    await putItem(this.table, { ...key, json: { S: JSON.stringify(value) } });
  }

  /** Returns the waiting batches, oldest tick first. */
  async outbox(): Promise<OutboxItem<Events>[]> {
    return (await queryItems(this.table, { pk: metaKeys.outbox })).map((item) => outboxItem<Events>(item));
  }

  /** Schedules the next attempt to deliver a batch that some receivers have not accepted. */
  async putOff(item: OutboxItem): Promise<void> {
    await putItem(this.table, { ...item.stored, ...deliveryOf(item) });
  }

  /** Moves a batch from the outbox to the tenant's undelivered batches, where it is kept for a week. */
  async giveUp(item: OutboxItem): Promise<void> {
    const { tenantId, key } = item;
    await putItem(this.table, {
      ...item.stored,
      ...metaKeys.undelivered(tenantId, key),
      ...deliveryOf(item),
      [TABLE_KEYS.ttl]: { N: String(Math.ceil(this.now() / 1000) + UNDELIVERED_SECONDS) },
    });
    await this.sent(key);
  }

  /**
   * Returns a tenant's undelivered batches, newest first.
   *
   * @param limit maximum number of batches returned
   */
  async listUndelivered(tenantId: Id, limit: number): Promise<OutboxItem[]> {
    const options = { ScanIndexForward: false, Limit: limit };
    const items = queryAll(this.table, { pk: metaKeys.undeliveredOf(tenantId) }, options);
    const found: OutboxItem[] = [];
    for await (const item of items) {
      found.push(outboxItem(item));
      if (found.length === limit) break;
    }
    return found;
  }

  /** Removes a delivered batch from the outbox. */
  async sent(key: string): Promise<void> {
    await deleteItem(this.table, { pk: { S: metaKeys.outbox }, sk: { S: key } });
  }

  /**
   * Starts a run of the evaluator unless one is in progress. Two concurrent runs would do the same work, and the slower
   * run's samples would overwrite those of the faster run.
   *
   * @param run a random id
   * @param untilMs time at which the run counts as ended, even if it was killed
   */
  async beginRun(run: string, untilMs: number): Promise<boolean> {
    return putItemIf(this.table, {
      Item: { ...metaKeys.evaluatorRun, run: { S: run }, untilMs: { N: String(untilMs) } },
      // `run = :run`: a retry after a lost response finds the run that the first attempt wrote.
      // `untilMs > :most`: a run that would end so far in the future had a wrong clock and was killed.
      ConditionExpression: 'attribute_not_exists(pk) OR untilMs < :now OR untilMs > :most OR run = :run',
      ExpressionAttributeValues: {
        ':now': { N: String(this.now()) },
        ':most': { N: String(untilMs + MAX_TICK_AHEAD_MS) },
        ':run': { S: run },
      },
    });
  }

  async endRun(run: string): Promise<void> {
    await deleteItemIf(this.table, {
      Key: metaKeys.evaluatorRun,
      ConditionExpression: 'run = :run',
      ExpressionAttributeValues: { ':run': { S: run } },
    });
  }
}

function deliveryOf({ attempts, dueMs, taken, refused, begun = [] }: OutboxItem): Item {
  const delivery: Delivery = { attempts, dueMs, taken, refused, begun };
  return { delivery: { S: JSON.stringify(delivery) } };
}

const UNTRIED: Delivery = { attempts: 0, dueMs: 0, taken: [], refused: [] };

function outboxItem<Events extends EventBatch>(item: Item): OutboxItem<Events> {
  const { delivery } = item;
  const key = item.sk!.S!;
  return {
    key,
    tenantId: metaKeys.parseOutboxBatch(key).tenantId,
    ...batchIn(item, key),
    expiresMs: Number(item[TABLE_KEYS.ttl]?.N ?? Infinity) * 1000,
    ...(delivery === undefined ? UNTRIED : deliveryIn(delivery.S)),
    stored: item,
  };
}

/** Returns whether a stored notification has labels and annotations, or a stored event has an alert. */
function isReadable(entry: Partial<Notification & EventBatch['events'][number]> | null): boolean {
  return entry?.alert?.id !== undefined || (areLabels(entry?.labels) && areLabels(entry?.annotations));
}

function areLabels(labels: unknown): boolean {
  const isPair = (pair: unknown) =>
    Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string';
  return Array.isArray(labels) && labels.every(isPair);
}

/**
 * Decodes the progress of a delivery. A delivery that cannot be decoded counts as not begun, so the batch is
 * sent again; receivers must tolerate repetition.
 */
function deliveryIn(text: string | undefined): Delivery {
  try {
    const { attempts, dueMs, taken, refused, begun = [] } = JSON.parse(text!) as Delivery;
    const isWhole = Number.isFinite(attempts) && Number.isFinite(dueMs);
    return isWhole && [taken, refused, begun].every(Array.isArray)
      ? { attempts, dueMs, taken, refused, begun }
      : UNTRIED;
  } catch {
    return UNTRIED;
  }
}

function batchIn<Events extends EventBatch>(
  item: Item,
  key: string,
): Pick<OutboxItem<Events>, 'batch' | 'damaged'> {
  try {
    const batch = decodeJson(item.batch!.B!) as NotificationBatch | Events;
    const entries = isEventBatch(batch) ? batch.events : batch.notifications;
    if (!Array.isArray(entries)) throw new TypeError('a batch has neither notifications nor events');
    const damaged = entries.filter((entry) => !isReadable(entry)).length;
    if (damaged === 0) return { batch };
    if (damaged === entries.length)
      throw new TypeError('a batch has only notifications without labels, or events without alerts');
    return isEventBatch(batch)
      ? { batch: { ...batch, events: batch.events.filter(isReadable) }, damaged }
      : { batch: { ...batch, notifications: batch.notifications.filter(isReadable) }, damaged };
  } catch (unreadable) {
    const { tickMs, tenantId } = metaKeys.parseOutboxBatch(key);
    return { batch: { tenant: tenantId, tickMs, unreadable } };
  }
}
