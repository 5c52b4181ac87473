import type { Labels } from '../model/labels';
import { type HashedLabels, hashedLabels } from '../model/labels-hash';
import { type LabelledSeries, ListOfSource, labelledSeries } from './labelled-rows';
import { byteHash, TABLE_FULL_MS, tableMemory } from './table-memory';

/** Memory of a series beside the bytes that name it, about. */
const SERIES_OVERHEAD = 150;
/** Of a source's list, beside its key. */
const LIST_OVERHEAD = 350;
const CHUNK_BYTES = 256 * 1024;
/** Series of one bucket that are looked at: a tenant can make many of equal hash. */
const MAX_CHAIN = 32;

/** What names a series beside bytes: compared by identity. */
export interface NamePart {
  /** For hashing. */
  readonly id: number;
}

/** A series of the table: its labels are decoded from what names it, since they are asked for rarely. */
class TabledSeries<Scope, Metric> implements LabelledSeries {
  lastRequest = -1;
  /** The labels of a series that was just made: its layout needs them. */
  fresh: HashedLabels | undefined;
  /** The next in the same bucket. */
  next: TabledSeries<Scope, Metric> | undefined;
  /** The series that came after this one. */
  successor: TabledSeries<Scope, Metric> | undefined;

  constructor(
    readonly ordinal: number,
    readonly labelBytes: number,
    readonly source: LabelledSeries['source'],
    readonly scope: Scope,
    readonly metric: Metric,
    readonly hash: number,
    /** The bytes that name the series, from `start` to `end`. */
    readonly chunk: Buffer,
    readonly start: number,
    readonly end: number,
    readonly list: ListOfSource,
    readonly index: number,
    private readonly labelsOf: LabelsOf<Scope, Metric>,
  ) {}

  get labels(): Labels {
    return this.fresh?.labels ?? this.labelsOf(this.scope, this.metric, this.chunk, this.start, this.end);
  }

  get hashed(): HashedLabels {
    return this.fresh ?? hashedLabels(this.labels);
  }

  isNamedBy(scope: Scope, metric: Metric, bytes: Uint8Array, start: number, end: number): boolean {
    return (
      scope === this.scope &&
      metric === this.metric &&
      end - start === this.end - this.start &&
      this.chunk.compare(bytes, start, end, this.start, this.end) === 0
    );
  }
}

/** @throws {InvalidSeriesError} when they name no valid series */
type LabelsOf<Scope, Metric> = (
  scope: Scope,
  metric: Metric,
  bytes: Uint8Array,
  start: number,
  end: number,
) => Labels;

/** Labels that are kept until as many more are decoded. */
const MAX_FRESH_BYTES = 4_000_000;

/**
 * The series that an instance of post knows, by the bytes with which senders name them.
 *
 * A request of 2,000 samples has 20,000 labels that are nearly always those of the request a minute before, in the same order:
 * most series are found by comparing their bytes with those of the series that followed the one before. Bytes lie outside of the
 * heap, and are compared, never only hashed: a tenant could make two series of equal hash.
 */
export class SeriesTable<Scope extends NamePart, Metric extends NamePart> {
  private buckets: (TabledSeries<Scope, Metric> | undefined)[] = [];
  /** By the source's key. */
  private readonly lists = new Map<string, ListOfSource>();
  private count = 0;
  private bytes = 0;
  private sinceMs = 0;
  private chunk = Buffer.alloc(0);
  private used = 0;
  private last: TabledSeries<Scope, Metric> | undefined;
  /** Hash of what {@link find} did not find. */
  private missed = 0;
  /** Series whose labels are kept. */
  private fresh: TabledSeries<Scope, Metric>[] = [];
  private freshBytes = 0;

  constructor(private readonly labelsOf: LabelsOf<Scope, Metric>) {
    this.clear();
  }

  /** Finds a series by `scope`, `metric` and the bytes from `start` to `end`. */
  find(
    scope: Scope,
    metric: Metric,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): LabelledSeries | undefined {
    const expected = this.last?.successor;
    if (expected?.isNamedBy(scope, metric, bytes, start, end)) {
      this.last = expected;
      return expected;
    }
    const hash = hashOf(scope, metric, bytes, start, end);
    this.missed = hash;
    let found = this.buckets[hash & (this.buckets.length - 1)];
    for (let i = 0; i < MAX_CHAIN && found !== undefined; i++) {
      if (found.hash === hash && found.isNamedBy(scope, metric, bytes, start, end)) {
        this.follow(found);
        return found;
      }
      found = found.next;
    }
    return undefined;
  }

  /**
   * Makes the series that {@link find} just did not find, and keeps it if there is room.
   *
   * @param nowMs for making room in a full table
   * @throws {InvalidSeriesError} as `labelsOf` does, or when the labels have too many bytes
   */
  add(
    scope: Scope,
    metric: Metric,
    bytes: Uint8Array,
    start: number,
    end: number,
    nowMs: number,
  ): LabelledSeries {
    const made = labelledSeries(this.labelsOf(scope, metric, bytes, start, end));
    const size = end - start;
    if (tableMemory.leftBytes < size + SERIES_OVERHEAD) {
      if (nowMs - this.sinceMs < TABLE_FULL_MS) return made;
      this.clear();
    }
    if (this.count === 0) this.sinceMs = nowMs;
    if (this.used + size > this.chunk.length) {
      this.chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, size));
      this.used = 0;
    }
    this.chunk.set(bytes.subarray(start, end), this.used);
    const { ordinal, labelBytes, source } = made;
    const list = this.listOf(source.key);
    const series = new TabledSeries(
      ...([ordinal, labelBytes, source, scope, metric, this.missed, this.chunk] as const),
      ...([this.used, this.used + size, list, list.count, this.labelsOf] as const),
    );
    list.add(series);
    this.keepFresh(series, made);
    this.used += size;
    this.use(size + SERIES_OVERHEAD);
    this.insert(series);
    this.follow(series);
    return series;
  }

  private keepFresh(series: TabledSeries<Scope, Metric>, { hashed, labelBytes }: LabelledSeries): void {
    if (this.freshBytes > MAX_FRESH_BYTES) {
      for (const each of this.fresh) each.fresh = undefined;
      this.fresh = [];
      this.freshBytes = 0;
    }
    series.fresh = hashed;
    this.fresh.push(series);
    this.freshBytes += labelBytes;
  }

  private listOf(sourceKey: string): ListOfSource {
    let list = this.lists.get(sourceKey);
    if (list === undefined || list.isFull) {
      list = new ListOfSource();
      this.lists.set(sourceKey, list);
      this.use(LIST_OVERHEAD + sourceKey.length);
    }
    return list;
  }

  private follow(series: TabledSeries<Scope, Metric>): void {
    if (this.last !== undefined) this.last.successor = series;
    this.last = series;
  }

  private insert(series: TabledSeries<Scope, Metric>): void {
    if (++this.count > this.buckets.length) {
      const old = this.buckets;
      this.buckets = new Array(old.length * 2).fill(undefined);
      for (let each of old)
        while (each !== undefined) {
          const { next } = each;
          this.chain(each);
          each = next;
        }
    }
    this.chain(series);
  }

  private chain(series: TabledSeries<Scope, Metric>): void {
    const bucket = series.hash & (this.buckets.length - 1);
    series.next = this.buckets[bucket];
    this.buckets[bucket] = series;
  }

  private use(bytes: number): void {
    this.bytes += bytes;
    tableMemory.use(bytes);
  }

  /** Forgets all series. */
  clear(): void {
    this.buckets = new Array(1024).fill(undefined);
    this.count = 0;
    tableMemory.use(-this.bytes);
    this.bytes = 0;
    this.lists.clear();
    this.last = undefined;
    this.used = this.chunk.length;
  }
}

function hashOf(scope: NamePart, metric: NamePart, bytes: Uint8Array, start: number, end: number): number {
  const ids = Math.imul(Math.imul(scope.id, 0x9e3779b1) ^ metric.id, 0x85ebca6b);
  return byteHash(bytes, start, end) ^ ids ^ (ids >>> 15);
}
