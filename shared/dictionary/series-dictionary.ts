import type { Id } from '../model/id';
import { type Labels, labelsKey, sourceOf } from '../model/labels';
import { ByteTable, firstSlot, MULTIPLIER } from './byte-table';
import { Home } from './home';
import { SeriesSource } from './series-source';

/** A series cannot be stored. The message gives the reason. */
export class InvalidSeriesError extends Error {
  override readonly name = 'InvalidSeriesError';
}

/**
 * Maximum total size of a series' label names and values, in bytes. Together with `splitBitsFor`, this bound makes
 * each layout fit into an item of the catalogue.
 */
export const MAX_SERIES_BYTES = 4_096;

/**
 * A namer adds series to a dictionary. For each series it chooses two numbers, by which it later finds the series'
 * labels, so that the dictionary need not keep them.
 */
export interface SeriesNamer {
  labelsOf(first: number, second: number): Labels;
}

/**
 * A summary of a series' labels, which a dictionary keeps in place of the labels: their hash, the size of
 * their key in bytes (see `LabelsHash`), and their number.
 */
export interface LabelsDigest {
  readonly hash: number;
  readonly keyBytes: number;
  readonly labelCount: number;
}

/** How to find the labels of a series: the index of its namer, and two numbers that the namer understands. */
export interface SeriesName {
  readonly namer: number;
  readonly first: number;
  readonly second: number;
}

/** Number of series that a new dictionary has room for. */
const FIRST_SERIES = 256;
/**
 * Maximum number of series with equal hashes that a look-up compares one by one. A tenant can construct many series
 * with equal hashes. Any more series with the same hash are in `crowded`, by their label key.
 */
const MAX_EQUAL = 8;
/** Approximate memory of a source or of a map entry, without its text, in bytes. */
const OBJECT_BYTES = 150;

/**
 * The series of a tenant that an instance knows, numbered from 1. Equal labels have the same number, whatever
 * protocol and encoding they arrive in. Each protocol keeps tables in the dictionary ({@link tables}), which map the
 * protocol's encoding of a series to the number.
 *
 * A dictionary only grows. If it becomes too large, the instance drops the whole dictionary. Requests in progress may
 * still use a dropped dictionary.
 */
export class SeriesDictionary {
  /** For each series, its position in its home (home.ts); 0 if it is in no union. */
  positions = new Int32Array(FIRST_SERIES);
  private usedBytes = 0;
  /** Number of series. */
  private count = 0;
  /** Number of requests so far. */
  private requests = 0;
  /** For each series, the number of its source. */
  private sourceNumbers = new Int32Array(FIRST_SERIES);
  /** For each series, the number of its labels times 2^16, plus the size of their key in bytes. */
  private sizes = new Int32Array(FIRST_SERIES);
  /** For each series, the index of its namer in `namers`. */
  private namersOfSeries = new Uint8Array(FIRST_SERIES);
  /** For each series, the two numbers that its namer has chosen: see {@link SeriesNamer}. */
  private firsts = new Int32Array(FIRST_SERIES);
  private seconds = new Int32Array(FIRST_SERIES);
  /** For each series, the last request that contained it. */
  private lastRequests = new Int32Array(FIRST_SERIES);
  /** For each series, the hash of its labels. */
  private hashes = new Int32Array(FIRST_SERIES);
  /** Hash table of series, by the hash of their labels; 0 marks a free slot. At most half of the slots are occupied. */
  private slots = new Int32Array(2 * FIRST_SERIES);
  /** Series without a slot, by their labels' key: {@link MAX_EQUAL} other series have the same hash. */
  private readonly crowded = new Map<string, number>();
  private readonly namers: SeriesNamer[] = [];
  /** Homes, keyed by the id of a pool or source. */
  private readonly homes = new Map<Id, Home>();
  /** Each protocol's tables, such as the known heads of lines, keyed by the class of the tables. */
  private readonly ofProtocols = new Map<unknown, unknown>();
  /** Sources; a source's index is its number minus 1. */
  private readonly sources: SeriesSource[] = [];
  /** Source numbers, keyed by the labels of the source. */
  private readonly sourceTable: ByteTable;
  /** Each source's entry in {@link sourceTable}; the index is the source's number minus 1. */
  private readonly sourceEntries: number[] = [];
  /** The source that was looked up last. Most series have the same source as the previous series. */
  private lastSource: readonly [labels: Labels, source: SeriesSource] | undefined;

  /** Called with each change in the dictionary's memory, in bytes; negative if the memory shrinks. */
  onUse: ((bytes: number) => void) | undefined;

  constructor(readonly tenantId: Id) {
    this.sourceTable = new ByteTable((bytes) => this.use(bytes));
    this.use(FIRST_SERIES * BYTES_A_SERIES + 4_000);
  }

  /** Approximate memory, in bytes. */
  get bytes(): number {
    return this.usedBytes;
  }

  /** Adds to the count of the dictionary's memory. Pass a negative number when memory is freed. */
  use(bytes: number): void {
    this.usedBytes += bytes;
    this.onUse?.(bytes);
  }

  /** Number of series, which is also the highest number of a series. */
  get size(): number {
    return this.count;
  }

  /** Returns the tables of a protocol. The first call creates them. */
  tables<Tables>(Kind: new (dictionary: SeriesDictionary) => Tables): Tables {
    let tables = this.ofProtocols.get(Kind) as Tables | undefined;
    if (tables === undefined) {
      tables = new Kind(this);
      this.ofProtocols.set(Kind, tables);
    }
    return tables;
  }

  /** Adds a namer. Returns its index, for {@link numberOf}. */
  addNamer(namer: SeriesNamer): number {
    return this.namers.push(namer) - 1;
  }

  /** Begins a request. Returns its number, for {@link isFirstIn}. */
  beginRequest(): number {
    return ++this.requests;
  }

  /** Whether this is the first call for a series within a request. */
  isFirstIn(request: number, series: number): boolean {
    if (this.lastRequests[series] === request) return false;
    this.lastRequests[series] = request;
    return true;
  }

  /** Returns the number of a series. The first call adds the series. */
  numberOf(
    source: SeriesSource,
    { hash, keyBytes, labelCount }: LabelsDigest,
    { namer, first, second }: SeriesName,
  ): number {
    const { slots, hashes } = this;
    const mask = slots.length - 1;
    let own: Labels | undefined;
    let equal = 0;
    let slot = slotOf(hash, mask);
    for (; slots[slot] !== 0; slot = (slot + 1) & mask) {
      const series = slots[slot]!;
      if (hashes[series] !== hash) continue;
      if (this.isNamedBy(series, namer, first, second)) return series;
      own ??= this.namers[namer]!.labelsOf(first, second);
      if (areEqual(this.labelsOf(series), own)) return series;
      if (++equal === MAX_EQUAL) break;
    }
    const series = this.count + 1;
    if (equal < MAX_EQUAL) slots[slot] = series;
    else {
      const key = labelsKey(own!);
      const known = this.crowded.get(key);
      if (known !== undefined) return known;
      this.crowded.set(key, series);
      this.use(OBJECT_BYTES + key.length);
    }
    this.count = series;
    hashes[series] = hash;
    this.namersOfSeries[series] = namer;
    this.firsts[series] = first;
    this.seconds[series] = second;
    this.sourceNumbers[series] = source.number;
    this.sizes[series] = (labelCount << 16) | keyBytes;
    if (series + 1 === hashes.length) this.grow();
    return series;
  }

  /** Returns the labels of a series, sorted, with `__name__`. */
  labelsOf(series: number): Labels {
    return this.namers[this.namersOfSeries[series]!]!.labelsOf(this.firsts[series]!, this.seconds[series]!);
  }

  /**
   * Returns the first of the two numbers by which `namer` finds the labels of a series; -1 if another namer finds them.
   */
  firstOf(series: number, namer: number): number {
    return this.namersOfSeries[series] === namer ? this.firsts[series]! : -1;
  }

  /** Returns the second of the two numbers by which a namer finds the labels of a series. */
  secondOf(series: number): number {
    return this.seconds[series]!;
  }

  /** Returns the size of a series' {@link labelsKey} in bytes, without escape characters. */
  keyBytesOf(series: number): number {
    return this.sizes[series]! & 0xffff;
  }

  labelCountOf(series: number): number {
    return this.sizes[series]! >>> 16;
  }

  sourceOfSeries(series: number): SeriesSource {
    return this.sources[this.sourceNumbers[series]! - 1]!;
  }

  /**
   * Returns the source to which series with these labels belong. The labels may lack `__name__`. The first call adds
   * the source.
   */
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

  /** Returns the home of the pool or source with this id. The first call makes the home. */
  homeOf(id: Id): Home {
    let home = this.homes.get(id);
    if (home === undefined) {
      home = new Home(this, id);
      this.homes.set(id, home);
    }
    return home;
  }

  labelsOfSource(number: number): Labels {
    return JSON.parse(this.sourceTable.bytesOf(this.sourceEntries[number - 1]!).toString()) as Labels;
  }

  /** Whether a series has this namer and these numbers. */
  isNamedBy(series: number, namer: number, first: number, second: number): boolean {
    return (
      series <= this.count &&
      this.firsts[series] === first &&
      this.seconds[series] === second &&
      this.namersOfSeries[series] === namer
    );
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
    const namers = new Uint8Array(2 * this.namersOfSeries.length);
    namers.set(this.namersOfSeries);
    this.namersOfSeries = namers;
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

/** Memory of one series in the arrays and the hash table, in bytes. */
const BYTES_A_SERIES = 7 * 4 + 1 + 8;

function slotOf(hash: number, mask: number): number {
  return firstSlot(Math.imul(hash, MULTIPLIER), mask);
}

function twice(old: Int32Array): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(2 * old.length);
  grown.set(old);
  return grown;
}

function areEqual(a: Labels, b: Labels): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x !== y && (x[0] !== y[0] || x[1] !== y[1])) return false;
  }
  return true;
}
