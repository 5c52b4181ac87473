import { ROLLUP_OBJECT_BYTES } from '../../shared/archive/rollup';
import { UPLOAD_PART_BYTES } from '../../shared/cold/object-upload';
import { type Billed, billedOf } from '../../shared/cost/cost-line';
import { REPLACED_DAYS } from '../../shared/cost/rollup-demand';
import { DAY_MS } from '../../shared/model/duration';
import { metaKeys } from '../../shared/platform/keys';
import { BUCKET_PREFIX, type FunctionName } from '../../shared/platform/names';
import { GB, type Price } from '../../shared/platform/prices';
import { parseSettings } from '../../shared/platform/settings';
import { putUnitsOf, READ_UNIT_BYTES } from '../../shared/platform/units';

const WRITE_UNIT_BYTES = 1024;
/** Size at which the archiver ends an object by default, in bytes. */
const ARCHIVE_OBJECT_BYTES = parseSettings({}).archivePartBytes;
/** Bytes that DynamoDB adds to each stored item. */
const STORED_ITEM_BYTES = 100;

const CHUNKS = 'chunks';
const LIST_OF_SOURCES = 'sources';
/** Kinds of items whose number grows with the number of series. */
const KINDS_OF_SERIES = new Set([
  CHUNKS,
  LIST_OF_SOURCES,
  'layouts',
  'changes',
  'index',
  'directory',
  'rolled',
  'hosts',
  'retired-hosts',
  'custom-identifiers',
]);

interface MeterOptions {
  /** The simulated share of the load, such as 0.001. */
  readonly sample: number;
  /** For each function, how many times less often its schedule invokes it than in a deployed stage. */
  readonly stretchOf: (name: FunctionName) => number;
}

/**
 * Counts what AWS would bill for the full load, although only a share of it (`sample`) is simulated. A unit that grows
 * with the number of series counts 1 / `sample` times. A unit that depends only on tenants, partitions and time counts
 * once. A unit that a function uses at each tick of its schedule counts as often as the deployed function would be
 * invoked.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/capacity-mode.html
 */
export class Meter {
  /** The function whose call the models are answering. */
  caller: FunctionName | undefined;
  /**
   * Number of records that a request causes at the full load, divided by the number that it causes in the simulation.
   * The simulation has so few hosts that chance decides how many partitions a request has.
   */
  recordsShare = 1;
  private counted: Partial<Record<Price, number>> = {};
  /** Versions of objects that were replaced or deleted, oldest first. The bucket keeps them for some days. */
  private readonly replaced: { readonly goneMs: number; readonly bytes: number }[] = [];

  constructor(
    private readonly now: () => number,
    private readonly options: MeterOptions,
  ) {}

  /** Counts a request to the API, and the invocation that answers it. */
  request(): void {
    this.addOfLoad('httpRequest', 1);
    this.addOfLoad('invocation', 1);
  }

  /** Counts a scheduled invocation, which represents several invocations of a deployed stage. */
  tick(invocations: number): void {
    this.add('invocation', invocations);
  }

  record(bytes: number): void {
    const units = putUnitsOf(bytes);
    // A shard gets a heartbeat at each tick, at any load.
    if (this.caller === 'recovery') this.add('streamUnit', units * this.stretch);
    else this.addOfLoad('streamUnit', units * this.recordsShare);
  }

  /**
   * Counts one read of the table: of one key, or of one page of a query.
   *
   * @param bytes size of all items that the read looked at, before its filter
   */
  readItems(pk: string, bytes: number, isConsistent: boolean): void {
    // At any load, a tenant's list of sources has the same number of partition keys. At the full load, each has more
    // items.
    const isList = kindOf(pk) === LIST_OF_SOURCES;
    const looked = isList ? bytes / this.options.sample : bytes;
    const units = Math.max(1, Math.ceil(looked / READ_UNIT_BYTES)) * (isConsistent ? 1 : 0.5);
    // At any load, the archiver finds the same number of days without chunks. The flusher's look-ups grow with the
    // load, because it makes one for each window.
    const isEmptyDay = this.caller !== 'flusher' && kindOf(pk) === CHUNKS && bytes === 0;
    const isOfLoad = this.caller === 'query' || (isOfSeries(pk) && !isEmptyDay && !isList);
    this.addForItems('warmReadUnit', units, pk, isOfLoad);
  }

  /**
   * Counts the write units of a write of an item.
   *
   * @param bytes size of the item before or after the write, whichever is larger
   */
  writeItem(pk: string, bytes: number): void {
    const units = Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));
    this.addForItems('warmWriteUnit', units, pk, isOfSeries(pk));
  }

  /**
   * Counts requests that write or list objects. The full load has more objects. An archive object takes a request for
   * each of its parts, one that begins it and one that completes it.
   *
   * @param key empty for a list
   */
  putObject(key: string, bytes: number): void {
    const fullBytes = bytes / this.options.sample;
    const isUpload = key.startsWith(BUCKET_PREFIX.archive) && fullBytes > UPLOAD_PART_BYTES;
    const requests = isUpload
      ? Math.ceil(fullBytes / UPLOAD_PART_BYTES) + 2 * Math.ceil(fullBytes / ARCHIVE_OBJECT_BYTES)
      : Math.ceil(fullBytes / ROLLUP_OBJECT_BYTES);
    this.add('objectPut', Math.max(1, requests));
  }

  /**
   * Counts a read of an object. A day of the archive is read chunk by chunk, and has more chunks at the full load. The
   * index at the end of each archive object is read once. A rollup object is read with one request.
   *
   * @param objectBytes size of the whole object
   * @param range the requested range, such as `bytes=-65536` for the end
   */
  getObject(key: string, objectBytes: number, range = ''): void {
    const isOfArchive = key.startsWith(BUCKET_PREFIX.archive);
    if (this.caller === 'query' || (isOfArchive && !range.startsWith('bytes=-')))
      this.addOfLoad('objectGet', 1);
    else {
      const objects =
        objectBytes / this.options.sample / (isOfArchive ? ARCHIVE_OBJECT_BYTES : ROLLUP_OBJECT_BYTES);
      this.add('objectGet', Math.max(1, Math.ceil(objects)));
    }
  }

  replaceObject(bytes: number): void {
    this.replaced.push({ goneMs: this.now() + REPLACED_DAYS * DAY_MS, bytes });
  }

  /** Counts the storage used during a share of a month. */
  store(share: number, items: Iterable<readonly [pk: string, bytes: number]>, objectBytes: number): void {
    let bytes = 0;
    for (const [pk, itemBytes] of items)
      bytes += (itemBytes + STORED_ITEM_BYTES) / (isOfSeries(pk) ? this.options.sample : 1);
    this.add('warmGbMonth', (share * bytes) / GB);
    this.add('recoveryGbMonth', (share * bytes) / GB);
    this.addOfLoad('coldGbMonth', (share * (objectBytes + this.replacedBytes)) / GB);
  }

  /** Bytes of replaced and deleted versions that the bucket still keeps. */
  get replacedBytes(): number {
    while (this.replaced.length > 0 && this.replaced[0]!.goneMs <= this.now()) this.replaced.shift();
    return this.replaced.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Returns the units counted since the last call. */
  take(): Billed {
    const taken = billedOf([this.counted]);
    this.counted = {};
    return taken;
  }

  private addForItems(price: Price, units: number, pk: string, isOfLoad: boolean): void {
    if (isOfLoad) this.addOfLoad(price, units);
    // The state of recovery is read and written at each tick. Other items change only when there is work.
    else if (pk.startsWith(metaKeys.recovery)) this.add(price, units * this.stretch);
    else this.add(price, units);
  }

  private get stretch(): number {
    return this.caller === undefined ? 1 : this.options.stretchOf(this.caller);
  }

  private addOfLoad(price: Price, units: number): void {
    this.add(price, units / this.options.sample);
  }

  private add(price: Price, units: number): void {
    this.counted[price] = (this.counted[price] ?? 0) + units;
  }
}

/**
 * Returns the kind of items that a partition key holds. Keys of the warm table begin with a tenant:
 * tenant#partition#day.
 */
export function kindOf(pk: string): string {
  return /^[\w-]{22}#/.test(pk) ? CHUNKS : metaKeys.parsePartition(pk).kind;
}

function isOfSeries(pk: string): boolean {
  return KINDS_OF_SERIES.has(kindOf(pk));
}
