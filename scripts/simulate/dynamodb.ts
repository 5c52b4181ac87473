import { itemBytes } from '../../shared/platform/units';
import { AwsError } from './aws-error';
import { firstIndex } from './binary-search';
import { compareTexts, type Given, holds, type Item, projected, updated, type Value } from './expressions';
import type { Meter } from './meter';

/** Decides which of DynamoDB's freedoms (faults/freedoms.json) the model uses in a call. */
export interface TableFreedoms {
  /**
   * Maximum number of items in the next page, possibly 0. If undefined, the page ends at a megabyte, as DynamoDB's
   * pages do.
   */
  pageItems(): number | undefined;
  /** Whether a key of a batch is returned as unprocessed. */
  isUnprocessed(): boolean;
  /** Age of the state that an eventually consistent read sees, in ms; 0 for the newest state. */
  staleMs(): number;
}

const NONE: TableFreedoms = { pageItems: () => undefined, isUnprocessed: () => false, staleMs: () => 0 };

interface Row {
  readonly sk: string;
  item: Item;
  /** Size of the item in bytes; 0 once it is deleted. */
  bytes: number;
  /** The item before its last change; undefined if there was none. */
  before: Item | undefined;
  changedMs: number;
  isDeleted: boolean;
}

type Input = Given & Readonly<Record<string, unknown>>;

/** How long the model keeps a deleted row, in ms. A stale read may still return its item. */
const GHOST_MS = 10_000;
const PAGE_BYTES = 1_000_000;
const MAX_ITEM_BYTES = 400_000;

/**
 * A model of DynamoDB: tables with `pk` and `sk`, and the operations that the functions use. Input and output are in
 * DynamoDB's JSON.
 */
export class DynamoDbModel {
  private readonly tables = new Map<string, Map<string, Row[]>>();
  /** Number of items in all tables, and their bytes. */
  count = 0;
  bytes = 0;

  constructor(
    private readonly now: () => number,
    private readonly freedoms: TableFreedoms = NONE,
    private readonly meter?: Meter,
  ) {}

  createTable(name: string): void {
    this.tables.set(name, new Map());
  }

  /** Deletes items some time after they have expired, as DynamoDB's TTL does. */
  expire(isDue: (expiredForMs: number) => boolean): void {
    for (const partitions of this.tables.values())
      for (const [pk, rows] of partitions) {
        const left = rows.filter((row) => {
          if (row.isDeleted) return false;
          const atMs = Number(row.item.expiresAt?.N ?? Number.NaN) * 1000;
          const isGone = this.now() > atMs && isDue(this.now() - atMs);
          if (isGone) this.set(row, undefined);
          return !isGone;
        });
        if (left.length === 0) partitions.delete(pk);
        else partitions.set(pk, left);
      }
  }

  /**
   * Lists the items of all tables, except those that have been deleted.
   *
   * @param prefix of the items' partition keys. @default all items
   */
  *items(prefix = ''): Generator<Item> {
    for (const partitions of this.tables.values())
      for (const [pk, rows] of partitions)
        if (pk.startsWith(prefix)) for (const { item, isDeleted } of rows) if (!isDeleted) yield item;
  }

  call(operation: string, input: Input): object {
    switch (operation) {
      case 'GetItem':
        return this.get(input);
      case 'PutItem':
        return this.write(input, input.Item as Item, () => input.Item as Item);
      case 'DeleteItem':
        return this.write(input, input.Key as Item, () => undefined);
      case 'UpdateItem':
        return this.write(input, input.Key as Item, (old) =>
          updated(input.UpdateExpression as string, old ?? (input.Key as Item), input),
        );
      case 'Query':
        return this.query(input);
      case 'Scan':
        return this.scan(input);
      case 'BatchGetItem':
        return this.batchGet(input);
      case 'BatchExecuteStatement':
        return this.batchInsert(input);
      case 'TransactWriteItems':
        return this.transact(input);
      default:
        throw new AwsError(400, 'UnknownOperationException', operation);
    }
  }

  private get(input: Input): object {
    const item = this.seen(input, input.Key as Item);
    this.meterRead(input, input.Key as Item, item);
    return item === undefined ? {} : { Item: projected(input.ProjectionExpression as string, item, input) };
  }

  /** Returns the item that a read sees. The item may be old unless the read is consistent. */
  private seen(input: Input, key: Item): Item | undefined {
    const row = this.find(input, key);
    return row && this.seenOf(row, input);
  }

  private seenOf(row: Row, { ConsistentRead }: Input): Item | undefined {
    const isStale = ConsistentRead !== true && this.now() - row.changedMs < this.freedoms.staleMs();
    if (isStale) return row.before;
    return row.isDeleted ? undefined : row.item;
  }

  private write(input: Input, key: Item, next: (old: Item | undefined) => Item | undefined): object {
    const old = this.current(input, key);
    const isAllowed = this.allows(input, old);
    const item = isAllowed ? next(old) : undefined;
    // A write is also billed if its condition fails.
    this.meterWrite(key, old, item);
    if (!isAllowed) throw this.refusal(input, old);
    this.store(input, key, item);
    switch (input.ReturnValues) {
      case 'ALL_OLD':
        return old === undefined ? {} : { Attributes: old };
      case 'ALL_NEW':
        return { Attributes: item };
      case 'UPDATED_NEW': {
        const changed = Object.entries(item ?? {}).filter(
          ([name, value]) => old?.[name] !== value && name !== 'pk' && name !== 'sk',
        );
        return { Attributes: Object.fromEntries(changed) };
      }
      default:
        return {};
    }
  }

  private allows(input: Input, old: Item | undefined): boolean {
    const condition = input.ConditionExpression as string | undefined;
    return condition === undefined || holds(condition, old ?? {}, input);
  }

  private refusal(input: Input, old: Item | undefined): AwsError {
    return new AwsError(400, 'ConditionalCheckFailedException', 'The conditional request failed', {
      ...(input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' && old !== undefined && { Item: old }),
    });
  }

  private query(input: Input): object {
    const values = input.ExpressionAttributeValues ?? {};
    const condition = input.KeyConditionExpression as string;
    const pk = /\bpk = (:\w+)/.exec(condition)?.[1];
    const partition = String(values[pk ?? '']?.S);
    const rows = this.partitions(input).get(partition) ?? [];
    const isForward = input.ScanIndexForward !== false;
    const after = (input.ExclusiveStartKey as Item | undefined)?.sk?.S as string | undefined;
    // The rows that fulfil a key condition are next to each other. They begin at its lower bound, or just after it (sk
    // > :a).
    const fails = (i: number) => !holds(condition, rows[i]!.item, input);
    let from = indexOf(rows, lowestOf(condition, values));
    if (from < rows.length && fails(from)) from++;
    let to = firstIndex(from, rows.length, fails);
    if (after !== undefined && isForward) {
      from = Math.max(from, indexOf(rows, after));
      while (from < to && compareTexts(rows[from]!.sk, after) <= 0) from++;
    } else if (after !== undefined) to = Math.min(to, indexOf(rows, after));
    const found = rows.slice(from, Math.max(from, to));
    return this.page(input, partition, isForward ? found : found.reverse());
  }

  private scan(input: Input): object {
    const after = input.ExclusiveStartKey as Item | undefined;
    const keys = [...this.partitions(input).keys()].sort(compareTexts);
    const rows = keys.flatMap((pk) =>
      after !== undefined && compareTexts(pk, after.pk!.S as string) < 0
        ? []
        : this.partitions(input)
            .get(pk)!
            .filter(
              ({ sk }) =>
                after === undefined || pk !== after.pk!.S || compareTexts(sk, after.sk!.S as string) > 0,
            ),
    );
    return this.page(input, '', rows);
  }

  /**
   * Makes a page of the rows that fulfil the key condition. The filter is applied afterwards, so it may shorten the
   * page.
   */
  private page(input: Input, pk: string, rows: readonly Row[]): object {
    const most = Math.min(Number(input.Limit ?? Infinity), this.freedoms.pageItems() ?? Infinity);
    const found: Item[] = [];
    let scanned = 0;
    let bytes = 0;
    let last: Item | undefined;
    for (const row of rows) {
      if (scanned >= most || bytes > PAGE_BYTES) break;
      scanned++;
      last = row.item;
      const item = this.seenOf(row, input);
      if (item === undefined) continue;
      bytes += item === row.item ? row.bytes : itemBytes(item);
      if (input.FilterExpression === undefined || holds(input.FilterExpression as string, item, input))
        found.push(projected(input.ProjectionExpression as string, item, input));
    }
    this.meter?.readItems(pk, bytes, input.ConsistentRead === true);
    // If a page is empty, the next one continues after the key of the request. If the request had no key either, there
    // is nothing to continue from.
    const start = last ?? (input.ExclusiveStartKey as Item | undefined);
    const more = scanned < rows.length && start !== undefined;
    return {
      ...(input.Select === 'COUNT' ? {} : { Items: found }),
      Count: found.length,
      ScannedCount: scanned,
      ...(more && { LastEvaluatedKey: { pk: start.pk, sk: start.sk } }),
    };
  }

  private batchGet(input: Input): object {
    const Responses: Record<string, Item[]> = {};
    const UnprocessedKeys: Record<string, object> = {};
    for (const [TableName, request] of Object.entries(input.RequestItems as Record<string, Input>)) {
      const keys = request.Keys as Item[];
      const isLeft = keys.map((_, i) => i > 0 && this.freedoms.isUnprocessed());
      const found = keys
        .filter((_, i) => !isLeft[i])
        .map((key) => {
          const item = this.seen({ ...request, TableName }, key);
          this.meterRead(request, key, item);
          return item;
        });
      Responses[TableName] = found
        .filter((item) => item !== undefined)
        .map((item) => projected(request.ProjectionExpression as string, item, request));
      if (isLeft.includes(true))
        UnprocessedKeys[TableName] = { ...request, Keys: keys.filter((_, i) => isLeft[i]) };
    }
    return { Responses, UnprocessedKeys };
  }

  /** Executes PartiQL INSERT statements, each on its own. */
  private batchInsert(input: Input): object {
    const statements = input.Statements as { Statement: string; Parameters: Value[] }[];
    return {
      Responses: statements.map(({ Statement, Parameters }) => {
        const TableName = /^INSERT INTO "([^"]+)" VALUE /.exec(Statement)?.[1];
        const names = [...Statement.matchAll(/'(\w+)': \?/g)].map(([, name]) => name!);
        const item = Object.fromEntries(names.map((name, i) => [name, Parameters[i]!]));
        this.meterWrite(item, undefined, item);
        if (this.current({ TableName }, item) !== undefined)
          return { Error: { Code: 'DuplicateItem', Message: 'Duplicate primary key exists in table' } };
        this.store({ TableName }, item, item);
        return { TableName };
      }),
    };
  }

  private transact(input: Input): object {
    const parts = (input.TransactItems as Record<string, Input>[]).map((part) => Object.entries(part)[0]!);
    const reasons = parts.map(([, part]) => {
      const old = this.current(part, (part.Key ?? part.Item) as Item);
      if (this.allows(part, old)) return { Code: 'None' };
      const { message, fields } = this.refusal(part, old);
      return { Code: 'ConditionalCheckFailed', Message: message, ...fields };
    });
    if (reasons.some(({ Code }) => Code !== 'None'))
      throw new AwsError(400, 'TransactionCanceledException', 'Transaction cancelled', {
        CancellationReasons: reasons,
      });
    const OPERATIONS: Record<string, string> = { Put: 'PutItem', Update: 'UpdateItem', Delete: 'DeleteItem' };
    for (const [kind, part] of parts) {
      const key = (part.Key ?? part.Item) as Item;
      if (kind !== 'ConditionCheck') this.call(OPERATIONS[kind]!, part);
      // Each write of a transaction is billed twice.
      this.meterWrite(key, undefined, this.current(part, key));
    }
    return {};
  }

  private meterRead(input: Input, key: Item, item: Item | undefined): void {
    const bytes = this.meter === undefined || item === undefined ? 0 : itemBytes(item);
    this.meter?.readItems(String(key.pk?.S), bytes, input.ConsistentRead === true);
  }

  private meterWrite(key: Item, old: Item | undefined, item: Item | undefined): void {
    if (this.meter === undefined) return;
    const bytes = Math.max(...[old, item].map((each) => (each === undefined ? 0 : itemBytes(each))));
    this.meter.writeItem(String(key.pk?.S), bytes);
  }

  private partitions(input: Input): Map<string, Row[]> {
    const name = String(input.TableName);
    const table = this.tables.get(name) ?? this.tables.get(name.split('/').at(-1)!);
    if (table === undefined)
      throw new AwsError(400, 'ResourceNotFoundException', `no table ${input.TableName}`);
    return table;
  }

  private find(input: Input, { pk, sk }: Item): Row | undefined {
    const rows = this.partitions(input).get(String(pk?.S)) ?? [];
    const i = indexOf(rows, String(sk?.S));
    return rows[i]?.sk === sk?.S ? rows[i] : undefined;
  }

  private current(input: Input, key: Item): Item | undefined {
    const row = this.find(input, key);
    return row?.isDeleted === false ? row.item : undefined;
  }

  private store(input: Input, key: Item, item: Item | undefined): void {
    const pk = key.pk?.S as string | undefined;
    const sk = key.sk?.S as string | undefined;
    if (pk === undefined || sk === undefined || pk === '' || sk === '')
      throw new AwsError(400, 'ValidationException', 'an item needs the keys pk and sk');
    const bytes = item === undefined ? 0 : itemBytes(item);
    if (bytes > MAX_ITEM_BYTES)
      throw new AwsError(400, 'ValidationException', 'Item size has exceeded the maximum allowed size');
    const partitions = this.partitions(input);
    const rows = partitions.get(pk) ?? [];
    partitions.set(pk, rows);
    const i = indexOf(rows, sk);
    const row = rows[i];
    const changedMs = this.now();
    if (row?.sk === sk) {
      row.before = row.isDeleted ? undefined : row.item;
      row.changedMs = changedMs;
      this.set(row, item, bytes);
    } else if (item !== undefined) {
      const added = { sk, item, bytes: 0, before: undefined, changedMs, isDeleted: true };
      rows.splice(i, 0, added);
      this.set(added, item, bytes);
    }
    if (item === undefined) sweep(rows, changedMs - GHOST_MS);
    if (rows.length === 0) partitions.delete(pk);
  }

  /** Replaces the item of a row, or removes it. */
  private set(row: Row, item: Item | undefined, bytes = 0): void {
    this.count += Number(item !== undefined) - Number(!row.isDeleted);
    this.bytes += bytes - row.bytes;
    row.isDeleted = item === undefined;
    row.item = item ?? row.item;
    row.bytes = bytes;
  }
}

/** Returns a lower bound for the sort keys that fulfil a key condition. */
function lowestOf(condition: string, values: Item): string {
  const name = /\bsk\s*(?:=|>=?|BETWEEN)\s*(:\w+)|begins_with\(sk, (:\w+)\)/.exec(condition);
  return String(values[name?.[1] ?? name?.[2] ?? '']?.S ?? '');
}

/** If many rows are deleted, removes those that were deleted before a time. */
function sweep(rows: Row[], beforeMs: number): void {
  const isGone = ({ isDeleted, changedMs }: Row) => isDeleted && changedMs < beforeMs;
  if (!rows.some(isGone)) return;
  const left = rows.filter((row) => !isGone(row));
  rows.splice(0, rows.length, ...left);
}

/** Returns the index of the first row with this sort key or a later one. */
function indexOf(rows: readonly Row[], sk: string): number {
  return firstIndex(0, rows.length, (i) => compareTexts(rows[i]!.sk, sk) >= 0);
}
