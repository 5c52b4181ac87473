import type { Id } from '../model/id';
import { type Labels, labelsKey, sourceOf } from '../model/labels';
import { labelsHash, textBytesOf } from '../model/labels-hash';
import { ByteTable, firstSlot, MULTIPLIER } from './byte-table';
import { FreshLabels } from './fresh-labels';
import type { Home } from './home';
import { SeriesSource } from './series-source';

/** A series that cannot be stored; the message says why. */
export class InvalidSeriesError extends Error {
  override readonly name = 'InvalidSeriesError';
}

/** Most bytes of a series' names and values. With `splitBitsFor`, this bound lets each layout fit an item of the catalogue. */
export const MAX_SERIES_BYTES = 4_096;

/** Finds the labels of the series that it added to a dictionary, by the two numbers that it chose for each. */
export interface SeriesNames {
  labelsOf(first: number, second: number): Labels;
}

/** A namer that no series has: a look-up with it compares labels alone. */
const UNNAMED = 255;
/** No slot: {@link MAX_EQUAL} series have the hash. */
const CROWDED = -1;
const FIRST_SERIES = 256;
/** Most series of equal hash that a look-up compares, since a tenant can make many. `crowded` finds the others by their keys. */
const MAX_EQUAL = 8;
/** Approximate memory of a source, or of an entry of a map, besides its text. */
const OBJECT_BYTES = 150;

const freshLabels = new FreshLabels();

/**
 * Numbers the series that an instance of post knows of a tenant, from 1 on. A label set has one number, whatever protocol posts it
 * and however its bytes spell it. Each protocol keeps its own tables for finding the number in a {@link part} of the dictionary.
 *
 * A dictionary only grows, until the instance drops it as a whole. A request under way keeps the dictionary with which it began.
 */
export class SeriesDictionary {
  /** Pools' homes, by the pool's id. */
  readonly homes = new Map<Id, Home>();
  /** By series: its position in its home (home.ts); 0 when it is in no union. */
  positions = new Int32Array(FIRST_SERIES);
  private usedBytes = 0;
  private count = 0;
  private requests = 0;
  /** By series: its source's number. */
  private sourceNumbers = new Int32Array(FIRST_SERIES);
  /** By series: the number of its labels times 2^16, and the bytes of their key. */
  private sizes = new Int32Array(FIRST_SERIES);
  /** By series: the index of its namer in `names`, and the two numbers by which the namer finds its labels. */
  private namers = new Uint8Array(FIRST_SERIES);
  private firsts = new Int32Array(FIRST_SERIES);
  private seconds = new Int32Array(FIRST_SERIES);
  /** By series: the last request that had it. */
  private lastRequests = new Int32Array(FIRST_SERIES);
  /** By series: the hash of its labels. */
  private hashes = new Int32Array(FIRST_SERIES);
  /** Series by their hashes; 0: the slot is free. At most half of them are taken. */
  private slots = new Int32Array(2 * FIRST_SERIES);
  /** Series that found {@link MAX_EQUAL} others of their hash in the slots, by {@link labelsKey}. */
  private readonly crowded = new Map<string, number>();
  /** The free slot where {@link find} ended without a result, or {@link CROWDED}. */
  private freeSlot = CROWDED;
  private readonly names: SeriesNames[] = [];
  /** Each protocol's tables, by their class. */
  private readonly ofProtocols = new Map<unknown, unknown>();
  private readonly sources: SeriesSource[] = [];
  private readonly sourceTable: ByteTable;
  /** Entries of {@link sourceTable}, by source. */
  private readonly sourceEntries: number[] = [];
  /** The source that was looked up last: most series have the same source as the one before. */
  private lastSource: readonly [labels: Labels, source: SeriesSource] | undefined;

  /** Called with each change of the dictionary's memory, bytes; negative when it shrinks. */
  onUse: ((bytes: number) => void) | undefined;

  constructor(readonly tenantId: Id) {
    this.sourceTable = new ByteTable((bytes) => this.use(bytes));
    this.use(FIRST_SERIES * BYTES_A_SERIES + 4_000);
  }

  /** Approximate memory. */
  get bytes(): number {
    return this.usedBytes;
  }

  /** Counts memory of an object that lives no longer than the dictionary. @param bytes negative when the memory is free again */
  use(bytes: number): void {
    this.usedBytes += bytes;
    this.onUse?.(bytes);
  }

  /** Series that are known. */
  get size(): number {
    return this.count;
  }

  /** Returns a protocol's tables. The first call makes them. */
  tables<Tables>(Kind: new (dictionary: SeriesDictionary) => Tables): Tables {
    let tables = this.ofProtocols.get(Kind) as Tables | undefined;
    if (tables === undefined) {
      tables = new Kind(this);
      this.ofProtocols.set(Kind, tables);
    }
    return tables;
  }

  /** @returns the index that stands for `names` in {@link nameBy} */
  addNames(names: SeriesNames): number {
    return this.names.push(names) - 1;
  }

  /** Begins a request, whose series {@link isFirstIn} then tells. @returns the request's number */
  beginRequest(): number {
    return ++this.requests;
  }

  /** Whether the request has not asked for the series before. */
  isFirstIn(request: number, series: number): boolean {
    if (this.lastRequests[series] === request) return false;
    this.lastRequests[series] = request;
    return true;
  }

  /**
   * The number of a series. If it is above the {@link size} before the call, the series is new, and the caller says how its
   * labels are found ({@link nameBy}).
   *
   * @param labels sorted, `__name__` included
   * @throws {InvalidSeriesError} when they have more than {@link MAX_SERIES_BYTES}
   */
  numberOf(labels: Labels): number {
    const { number: hash, keyBytes } = labelsHash.of(labels);
    const bytes = textBytesOf(keyBytes, labels);
    if (bytes > MAX_SERIES_BYTES)
      throw new InvalidSeriesError(`labels of ${bytes} bytes, ${MAX_SERIES_BYTES} are allowed`);
    const source = this.sourceOf(labels);
    this.index(source);
    const found = this.find(hash, labels, UNNAMED, 0, 0);
    if (found !== 0) return found;
    const series = this.count + 1;
    this.putIndex(hash, series, labels);
    this.make(keyBytes, labels.length, source);
    freshLabels.set(this, series, labels, keyBytes);
    return series;
  }

  /**
   * Like {@link numberOf}, for a series whose labels its {@link SeriesNames} finds by `first` and `second`. The namer makes the
   * labels only when they have to be compared.
   *
   * @param hash and `keyBytes`: see {@link LabelsHash}
   */
  numberNamed(
    source: SeriesSource,
    hash: number,
    keyBytes: number,
    labelCount: number,
    namer: number,
    first: number,
    second: number,
  ): number {
    this.index(source);
    const found = this.find(hash, undefined, namer, first, second);
    if (found !== 0) return found;
    const series = this.count + 1;
    this.nameBy(series, namer, first, second);
    this.putIndex(hash, series);
    return this.make(keyBytes, labelCount, source);
  }

  /**
   * Numbers one of a source's first series. The caller makes these calls one directly after the other, with different series. So
   * the dictionary need not look up their hashes, which is most of what a number costs. It indexes them once any other method
   * adds to the source.
   */
  numberFirst(
    source: SeriesSource,
    keyBytes: number,
    labelCount: number,
    namer: number,
    first: number,
    second: number,
  ): number {
    const series = this.make(keyBytes, labelCount, source);
    source.unindexed++;
    this.nameBy(series, namer, first, second);
    return series;
  }

  /** Puts a source's series that were numbered first into the index. */
  private index(source: SeriesSource): void {
    const { firstSeries, unindexed } = source;
    source.unindexed = 0;
    for (let series = firstSeries; series < firstSeries + unindexed; series++) {
      const labels = this.labelsOf(series);
      const { number: hash } = labelsHash.of(labels);
      // The series is not indexed yet; the look-up finds its free slot.
      this.find(hash, labels, UNNAMED, 0, 0);
      this.putIndex(hash, series, labels);
    }
  }

  /** Indexes a series that {@link find} just did not find. */
  private putIndex(hash: number, series: number, labels?: Labels): void {
    this.hashes[series] = hash;
    if (this.freeSlot !== CROWDED) {
      this.slots[this.freeSlot] = series;
      return;
    }
    const key = labelsKey(labels ?? this.labelsOf(series));
    this.crowded.set(key, series);
    this.use(OBJECT_BYTES + key.length);
  }

  /** Notes which namer finds the labels of a new series, and by which numbers. */
  nameBy(series: number, namer: number, first: number, second = 0): void {
    this.namers[series] = namer;
    this.firsts[series] = first;
    this.seconds[series] = second;
  }

  /** Sorted, `__name__` included. */
  labelsOf(series: number): Labels {
    return (
      freshLabels.get(this, series) ??
      this.names[this.namers[series]!]!.labelsOf(this.firsts[series]!, this.seconds[series]!)
    );
  }

  /** @returns the first of the numbers that find a series' labels; -1 when another namer gave them */
  firstOf(series: number, namer: number): number {
    return this.namers[series] === namer ? this.firsts[series]! : -1;
  }

  secondOf(series: number): number {
    return this.seconds[series]!;
  }

  /** Bytes of a series' {@link labelsKey}, without those that escapes add. */
  keyBytesOf(series: number): number {
    return this.sizes[series]! & 0xffff;
  }

  labelCountOf(series: number): number {
    return this.sizes[series]! >>> 16;
  }

  sourceOfSeries(series: number): SeriesSource {
    return this.sources[this.sourceNumbers[series]! - 1]!;
  }

  /** The source of a series of these labels. @param labels with or without `__name__` */
  sourceOf(labels: Labels): SeriesSource {
    const ofSource = sourceOf.labels(labels);
    const { lastSource } = this;
    if (lastSource !== undefined && areEqual(lastSource[0], ofSource)) return lastSource[1];
    const key = Buffer.from(labelsKey(ofSource));
    const entry = this.sourceTable.find(key, 0, key.length);
    let source = this.sources[entry === 0 ? -1 : this.sourceTable.valueOf(entry) - 1];
    if (source === undefined) {
      source = new SeriesSource(this, this.sources.length + 1);
      this.sources.push(source);
      this.sourceEntries.push(this.sourceTable.add(key, 0, key.length, source.number));
      this.use(OBJECT_BYTES);
    }
    this.lastSource = [ofSource, source];
    return source;
  }

  labelsOfSource(number: number): Labels {
    return JSON.parse(this.sourceTable.bytesOf(this.sourceEntries[number - 1]!).toString()) as Labels;
  }

  isNamedBy(series: number, namer: number, first: number, second: number): boolean {
    return (
      series <= this.count &&
      this.firsts[series] === first &&
      this.seconds[series] === second &&
      this.namers[series] === namer
    );
  }

  /** @param labels undefined: those that the namer finds. @returns the series' number, 0 when it is not indexed */
  private find(
    hash: number,
    labels: Labels | undefined,
    namer: number,
    first: number,
    second: number,
  ): number {
    const { slots, hashes } = this;
    const mask = slots.length - 1;
    let equal = 0;
    let own = labels;
    let slot = slotOf(hash, mask);
    this.freeSlot = CROWDED;
    for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const series = slots[slot]!;
      if (hashes[series] !== hash) continue;
      if (this.isNamedBy(series, namer, first, second)) return series;
      own ??= this.names[namer]!.labelsOf(first, second);
      if (areEqual(this.labelsOf(series), own)) return series;
      if (++equal === MAX_EQUAL) return this.crowded.get(labelsKey(own)) ?? 0;
    }
    this.freeSlot = slot;
    return 0;
  }

  private make(keyBytes: number, labelCount: number, source: SeriesSource): number {
    const series = ++this.count;
    if (source.firstSeries === 0) source.firstSeries = series;
    this.sourceNumbers[series] = source.number;
    this.sizes[series] = (labelCount << 16) | keyBytes;
    if (series + 1 === this.sizes.length) this.grow();
    return series;
  }

  private grow(): void {
    this.use(this.sizes.length * BYTES_A_SERIES);
    this.hashes = twice(this.hashes);
    this.positions = twice(this.positions);
    this.sourceNumbers = twice(this.sourceNumbers);
    this.sizes = twice(this.sizes);
    this.firsts = twice(this.firsts);
    this.seconds = twice(this.seconds);
    this.lastRequests = twice(this.lastRequests);
    const namers = new Uint8Array(2 * this.namers.length);
    namers.set(this.namers);
    this.namers = namers;
    const slots = new Int32Array(2 * this.slots.length);
    const mask = slots.length - 1;
    for (const series of this.slots) {
      if (series === 0) continue;
      let slot = slotOf(this.hashes[series]!, mask);
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = series;
    }
    this.slots = slots;
  }
}

/** Bytes of one series in the arrays by series and in the slots. */
const BYTES_A_SERIES = 7 * 4 + 1 + 8;

function slotOf(hash: number, mask: number): number {
  return firstSlot(Math.imul(hash, MULTIPLIER), mask);
}

function twice(old: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(2 * old.length);
  grown.set(old);
  return grown;
}

export function areEqual(a: Labels, b: Labels): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x !== y && (x[0] !== y[0] || x[1] !== y[1])) return false;
  }
  return true;
}
