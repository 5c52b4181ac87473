import type { Id } from '../model/id';
import { type Labels, labelsKey, sourceOf } from '../model/labels';
import { labelsHash, textBytesOf } from '../model/labels-hash';
import { ByteTable, firstSlot, MULTIPLIER } from './byte-table';
import { FreshLabels } from './fresh-labels';
import type { Home } from './home';
import { SeriesSource } from './series-source';

/** The series cannot be stored, for the reason in the message. */
export class InvalidSeriesError extends Error {
  override readonly name = 'InvalidSeriesError';
}

/**
 * Most bytes of a series' label names and values. Together with `splitBitsFor`, this ensures that each layout
 * fits an item of the catalogue.
 */
export const MAX_SERIES_BYTES = 4_096;

/**
 * Finds the labels of a series that it has added to a dictionary, by two numbers that it chose for the
 * series.
 */
export interface SeriesNames {
  labelsOf(first: number, second: number): Labels;
}

/** Index of a namer that no series has. A look-up with it compares labels only. */
const UNNAMED = 255;
/** There is no free slot for the series: {@link MAX_EQUAL} others have its hash. */
const CROWDED = -1;
const FIRST_SERIES = 256;
/**
 * Most series with the same hash that a look-up compares one by one. A tenant can construct many such series;
 * further ones are found by their label key in `crowded`.
 */
const MAX_EQUAL = 8;
/** Approximate memory of a source, or of an entry of a map, besides its text. */
const OBJECT_BYTES = 150;

const freshLabels = new FreshLabels();

/**
 * Assigns numbers, from 1 on, to the series of a tenant that an instance of post knows. A label set has one
 * number, whatever protocol posts it and however it is encoded. Each protocol keeps tables in the dictionary
 * ({@link tables}) that map its encoding of a series to the number.
 *
 * A dictionary only grows, until the instance drops it as a whole. A request in progress keeps the dictionary
 * with which it began.
 */
export class SeriesDictionary {
  /** Homes of pools, by the pool's id. */
  readonly homes = new Map<Id, Home>();
  /** For each series, its position in its home (home.ts); 0 when it is in no union. */
  positions = new Int32Array(FIRST_SERIES);
  private usedBytes = 0;
  private count = 0;
  private requests = 0;
  /** For each series, the number of its source. */
  private sourceNumbers = new Int32Array(FIRST_SERIES);
  /** For each series, its number of labels times 2^16, plus the number of bytes of their key. */
  private sizes = new Int32Array(FIRST_SERIES);
  /**
   * For each series, the index of its namer in `names`, and the two numbers by which the namer finds its
   * labels.
   */
  private namers = new Uint8Array(FIRST_SERIES);
  private firsts = new Int32Array(FIRST_SERIES);
  private seconds = new Int32Array(FIRST_SERIES);
  /** For each series, the last request that contained it. */
  private lastRequests = new Int32Array(FIRST_SERIES);
  /** For each series, the hash of its labels. */
  private hashes = new Int32Array(FIRST_SERIES);
  /** Series in the order of their hashes; 0 marks a free slot. At most half of the slots are taken. */
  private slots = new Int32Array(2 * FIRST_SERIES);
  /**
   * Series that did not fit into the slots because {@link MAX_EQUAL} others have their hash, by {@link
   * labelsKey}.
   */
  private readonly crowded = new Map<string, number>();
  /** The free slot at which an unsuccessful {@link find} ended, or {@link CROWDED}. */
  private freeSlot = CROWDED;
  private readonly names: SeriesNames[] = [];
  /** Each protocol's tables, by class. */
  private readonly ofProtocols = new Map<unknown, unknown>();
  private readonly sources: SeriesSource[] = [];
  private readonly sourceTable: ByteTable;
  /** Entries in {@link sourceTable}, by source. */
  private readonly sourceEntries: number[] = [];
  /** The source that was looked up last. Most series have the same source as the one before. */
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

  /**
   * Counts the memory of an object that lives no longer than the dictionary. @param bytes negative when
   * memory is freed
   */
  use(bytes: number): void {
    this.usedBytes += bytes;
    this.onUse?.(bytes);
  }

  /** Number of known series. */
  get size(): number {
    return this.count;
  }

  /** Returns a protocol's tables, which the first call creates. */
  tables<Tables>(Kind: new (dictionary: SeriesDictionary) => Tables): Tables {
    let tables = this.ofProtocols.get(Kind) as Tables | undefined;
    if (tables === undefined) {
      tables = new Kind(this);
      this.ofProtocols.set(Kind, tables);
    }
    return tables;
  }

  /** Adds a namer. @returns its index, for {@link nameBy} */
  addNames(names: SeriesNames): number {
    return this.names.push(names) - 1;
  }

  /** Begins a request, for {@link isFirstIn}. @returns the request's number */
  beginRequest(): number {
    return ++this.requests;
  }

  /** Whether this is the first call for the series within the request. */
  isFirstIn(request: number, series: number): boolean {
    if (this.lastRequests[series] === request) return false;
    this.lastRequests[series] = request;
    return true;
  }

  /**
   * Returns the number of a series. If it is greater than {@link size} before the call, the series is new,
   * and the caller must set how its labels are found ({@link nameBy}).
   *
   * @param labels sorted, with `__name__`
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
   * The same as {@link numberOf}, for a series whose labels a {@link SeriesNames} finds by `first` and
   * `second`. Builds the labels only when they must be compared.
   *
   * @param hash hash of the labels; see {@link LabelsHash}, also for `keyBytes`
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
   * Assigns a number to one of a source's first series. The caller must make these calls consecutively and
   * with different series. So the dictionary need not look up their hashes, which is most of the cost of a
   * number. It indexes them later, when another method first adds a series to the source.
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

  /** Indexes those series of a source that were added by {@link numberFirst}. */
  private index(source: SeriesSource): void {
    const { firstSeries, unindexed } = source;
    source.unindexed = 0;
    for (let series = firstSeries; series < firstSeries + unindexed; series++) {
      const labels = this.labelsOf(series);
      const { number: hash } = labelsHash.of(labels);
      // This look-up fails, but finds a free slot.
      this.find(hash, labels, UNNAMED, 0, 0);
      this.putIndex(hash, series, labels);
    }
  }

  /** Indexes the series that the preceding {@link find} did not find. */
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

  /** Sets which namer finds the labels of a new series, and by which numbers. */
  nameBy(series: number, namer: number, first: number, second = 0): void {
    this.namers[series] = namer;
    this.firsts[series] = first;
    this.seconds[series] = second;
  }

  /** Returns a series' labels, sorted, with `__name__`. */
  labelsOf(series: number): Labels {
    return (
      freshLabels.get(this, series) ??
      this.names[this.namers[series]!]!.labelsOf(this.firsts[series]!, this.seconds[series]!)
    );
  }

  /**
   * @returns the first of the two numbers by which `namer` finds a series' labels; -1 when another namer does
   */
  firstOf(series: number, namer: number): number {
    return this.namers[series] === namer ? this.firsts[series]! : -1;
  }

  secondOf(series: number): number {
    return this.seconds[series]!;
  }

  /** Number of bytes of a series' {@link labelsKey}, without escape characters. */
  keyBytesOf(series: number): number {
    return this.sizes[series]! & 0xffff;
  }

  labelCountOf(series: number): number {
    return this.sizes[series]! >>> 16;
  }

  sourceOfSeries(series: number): SeriesSource {
    return this.sources[this.sourceNumbers[series]! - 1]!;
  }

  /** Returns the source of a series with these labels. @param labels with or without `__name__` */
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

  /**
   * @param labels undefined: the {@link SeriesNames} that added the series finds them.
   * @returns the series' number; 0 when it is not indexed
   */
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

/** Memory of one series in the arrays and in the slots, in bytes. */
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
