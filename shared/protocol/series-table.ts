import { randomInt } from 'node:crypto';
import type { Labels } from '../model/labels';
import { type HashedLabels, hashedLabels } from '../model/labels-hash';
import { type LabelledSeries, ListOfSource, labelledSeries, type SeriesEntries } from './labelled-rows';
import { byteHash, TABLE_FULL_MS, tableMemory } from './table-memory';

/** Of a source's list, beside its key. */
const LIST_OVERHEAD = 350;
/** Slots of the hash table that an entry may lie away from its own. */
const MAX_PROBES = 64;
/** Entries of equal hash, which a tenant can make many of: more of them would fill the slots of other tenants' series. */
const MAX_EQUAL = 8;
const FIRST_SLOTS = 2_048;

/** An entry's place is the chunk's number times this and the index of its first word. */
const CHUNK_BITS = 16;
const CHUNK_WORDS = 2 ** CHUNK_BITS;
const CHUNK_MASK = CHUNK_WORDS - 1;
/** Words of an entry before the bytes that name it. */
const BYTES = 0;
/** The entry that came after this one; 0: none. */
const SUCCESSOR = 1;
const SCOPE = 2;
const METRIC = 3;
const LABEL_BYTES = 4;
const LIST = 5;
/** In the list. */
const INDEX = 6;
/** Number of the last request that had the series. */
const LAST_REQUEST = 7;
const HEADER_WORDS = 8;
/** Of an entry. */
const MAX_BYTES = 65_536;

/** What names a series beside bytes. */
export interface NamePart {
  /** No two of a table have the same. */
  readonly id: number;
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
const MAX_FRESH_BYTES = 2_000_000;

/**
 * The entries of a table, outside of the heap: an object for each of a million series gave the garbage collector a third of post's
 * CPU. An entry's header and the bytes that name it lie together.
 */
class Entries<Scope extends NamePart, Metric extends NamePart> implements SeriesEntries {
  private readonly words: Int32Array[] = [];
  private readonly chunks: Buffer[] = [];
  /** Words of the last chunk that are in use. */
  private used = CHUNK_WORDS;
  private readonly scopes = new Map<number, Scope>();
  private readonly metrics = new Map<number, Metric>();
  private readonly lists: ListOfSource[] = [];
  /** Labels of series that were just made: their layouts need them. */
  private fresh = new Map<number, HashedLabels>();
  /** Of those before them. */
  private lessFresh = this.fresh;
  private freshBytes = 0;

  constructor(private readonly decode: LabelsOf<Scope, Metric>) {}

  /** @returns the entry, which is above 0 */
  add(
    scope: Scope,
    metric: Metric,
    bytes: Uint8Array,
    start: number,
    end: number,
    { list, hashed, labelBytes }: NewEntry,
  ): number {
    const size = HEADER_WORDS + Math.ceil((end - start) / 4);
    if (this.used + size > CHUNK_WORDS) {
      const buffer = new ArrayBuffer(4 * CHUNK_WORDS);
      this.words.push(new Int32Array(buffer));
      this.chunks.push(Buffer.from(buffer));
      // No entry is 0.
      this.used = 1;
    }
    const chunk = this.words.length - 1;
    const entry = chunk * CHUNK_WORDS + this.used;
    const words = this.words[chunk]!;
    words[this.used + BYTES] = end - start;
    words[this.used + SCOPE] = scope.id;
    words[this.used + METRIC] = metric.id;
    words[this.used + LABEL_BYTES] = labelBytes;
    words[this.used + LIST] = list;
    words[this.used + INDEX] = this.lists[list]!.count;
    words[this.used + LAST_REQUEST] = -1;
    this.chunks[chunk]!.set(bytes.subarray(start, end), 4 * (this.used + HEADER_WORDS));
    this.used += size;
    this.scopes.set(scope.id, scope);
    this.metrics.set(metric.id, metric);
    this.lists[list]!.add(entry);
    this.keepFresh(entry, hashed, labelBytes);
    return entry;
  }

  private keepFresh(entry: number, hashed: HashedLabels, labelBytes: number): void {
    if (this.freshBytes > MAX_FRESH_BYTES) {
      this.lessFresh = this.fresh;
      this.fresh = new Map();
      this.freshBytes = 0;
    }
    this.fresh.set(entry, hashed);
    this.freshBytes += labelBytes;
  }

  addList(list: ListOfSource): number {
    return this.lists.push(list) - 1;
  }

  isNamedBy(
    entry: number,
    scope: Scope,
    metric: Metric,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    const chunk = entry >> CHUNK_BITS;
    const words = this.words[chunk]!;
    const at = entry & CHUNK_MASK;
    const length = end - start;
    if (words[at + BYTES] !== length || words[at + SCOPE] !== scope.id || words[at + METRIC] !== metric.id)
      return false;
    const first = 4 * (at + HEADER_WORDS);
    return this.chunks[chunk]!.compare(bytes, start, end, first, first + length) === 0;
  }

  private field(entry: number, word: number): number {
    return this.words[entry >> CHUNK_BITS]![(entry & CHUNK_MASK) + word]!;
  }

  successorOf(entry: number): number {
    return this.field(entry, SUCCESSOR);
  }

  setSuccessor(entry: number, successor: number): void {
    this.words[entry >> CHUNK_BITS]![(entry & CHUNK_MASK) + SUCCESSOR] = successor;
  }

  private freshOf(entry: number): HashedLabels | undefined {
    return this.fresh.get(entry) ?? this.lessFresh.get(entry);
  }

  labelsOf(entry: number): Labels {
    const fresh = this.freshOf(entry);
    if (fresh !== undefined) return fresh.labels;
    const chunk = entry >> CHUNK_BITS;
    const words = this.words[chunk]!;
    const at = entry & CHUNK_MASK;
    const first = 4 * (at + HEADER_WORDS);
    const scope = this.scopes.get(words[at + SCOPE]!)!;
    const metric = this.metrics.get(words[at + METRIC]!)!;
    return this.decode(scope, metric, this.chunks[chunk]!, first, first + words[at + BYTES]!);
  }

  hashedOf(entry: number): HashedLabels {
    return this.freshOf(entry) ?? hashedLabels(this.labelsOf(entry));
  }

  labelBytesOf(entry: number): number {
    return this.field(entry, LABEL_BYTES);
  }

  listOf(entry: number): ListOfSource {
    return this.lists[this.field(entry, LIST)]!;
  }

  indexOf(entry: number): number {
    return this.field(entry, INDEX);
  }

  isFirstIn(request: number, entry: number): boolean {
    const words = this.words[entry >> CHUNK_BITS]!;
    const at = (entry & CHUNK_MASK) + LAST_REQUEST;
    if (words[at] === request) return false;
    words[at] = request;
    return true;
  }
}

interface NewEntry {
  /** Number of its source's list. */
  readonly list: number;
  readonly hashed: HashedLabels;
  readonly labelBytes: number;
}

/**
 * The series that an instance of post knows, by the bytes with which senders name them.
 *
 * A request of 2,000 samples has 20,000 labels that are nearly always those of the request a minute before, in the same order:
 * most series are found by comparing their bytes with those of the series that followed the one before. Bytes lie outside of the
 * heap, and are compared, never only hashed: a tenant could make two series of equal hash.
 */
export class SeriesTable<Scope extends NamePart, Metric extends NamePart> {
  private known: Entries<Scope, Metric>;
  /** Pairs of an entry's hash and the entry, by the hash; entry 0: the slot is free. At most half of them are taken. */
  private slots = new Int32Array(2 * FIRST_SLOTS);
  /** By the source's key: the list and its number. */
  private lists = new Map<string, readonly [list: ListOfSource, number: number]>();
  private count = 0;
  private bytes = 0;
  private isFull = false;
  private sinceMs = 0;
  private last = 0;
  /** Hash of what {@link find} did not find. */
  private missed = 0;

  constructor(private readonly labelsOf: LabelsOf<Scope, Metric>) {
    this.known = new Entries(labelsOf);
  }

  /**
   * Begins a request, in which no series is forgotten. A full table is emptied if its first entry is older than
   * {@link TABLE_FULL_MS}.
   *
   * @returns the entries of the request's series, which stay valid when the table is emptied
   */
  begin(nowMs: number): SeriesEntries {
    if (this.isFull && nowMs - this.sinceMs >= TABLE_FULL_MS) this.clear();
    if (this.count === 0) this.sinceMs = nowMs;
    return this.known;
  }

  /**
   * Finds a series by `scope`, `metric` and the bytes from `start` to `end`.
   *
   * @returns its entry; 0 when it is not known
   */
  find(scope: Scope, metric: Metric, bytes: Uint8Array, start: number, end: number): number {
    const { known, last } = this;
    const expected = last === 0 ? 0 : known.successorOf(last);
    if (expected !== 0 && known.isNamedBy(expected, scope, metric, bytes, start, end)) {
      this.last = expected;
      return expected;
    }
    const hash = hashOf(scope, metric, bytes, start, end);
    this.missed = hash;
    const { slots } = this;
    const mask = slots.length / 2 - 1;
    const first = firstSlot(hash, mask);
    for (let i = 0; i < MAX_PROBES; i++) {
      const slot = 2 * ((first + i) & mask);
      const entry = slots[slot + 1]!;
      if (entry === 0) return 0;
      if (slots[slot] === hash && known.isNamedBy(entry, scope, metric, bytes, start, end)) {
        this.follow(entry);
        return entry;
      }
    }
    return 0;
  }

  /**
   * Makes the series that {@link find} just did not find.
   *
   * @returns its entry; the series itself when there is no room for it
   * @throws {InvalidSeriesError} as `labelsOf` does, or when the labels have too many bytes
   */
  add(scope: Scope, metric: Metric, bytes: Uint8Array, start: number, end: number): number | LabelledSeries {
    const made = labelledSeries(this.labelsOf(scope, metric, bytes, start, end));
    const size = 4 * HEADER_WORDS + 4 * Math.ceil((end - start) / 4) + SLOT_BYTES;
    if (tableMemory.leftBytes < size) this.isFull = true;
    if (this.isFull || end - start > MAX_BYTES) return made;
    if (2 * (this.count + 1) > this.slots.length / 2) this.slots = twiceAsMany(this.slots);
    const hash = this.missed;
    const slot = freeSlot(this.slots, hash);
    if (slot === undefined) return made;
    const { hashed, labelBytes } = made;
    const list = this.listOf(made);
    const entry = this.known.add(scope, metric, bytes, start, end, { list, hashed, labelBytes });
    this.slots[slot] = hash;
    this.slots[slot + 1] = entry;
    this.count++;
    this.use(size);
    this.follow(entry);
    return entry;
  }

  private listOf({ source }: LabelledSeries): number {
    const known = this.lists.get(source.key);
    if (known !== undefined && !known[0].isFull) return known[1];
    const list = new ListOfSource(source, this.known);
    const number = this.known.addList(list);
    this.lists.set(source.key, [list, number]);
    this.use(LIST_OVERHEAD + source.key.length);
    return number;
  }

  private follow(entry: number): void {
    if (this.last !== 0) this.known.setSuccessor(this.last, entry);
    this.last = entry;
  }

  private use(bytes: number): void {
    this.bytes += bytes;
    tableMemory.use(bytes);
  }

  /** Forgets all series. */
  clear(): void {
    this.known = new Entries(this.labelsOf);
    this.slots = new Int32Array(2 * FIRST_SLOTS);
    this.lists = new Map();
    this.count = 0;
    this.use(-this.bytes);
    this.isFull = false;
    this.last = 0;
  }
}

/** Of an entry's slots, its index in a list, and the list's room to grow, about. */
const SLOT_BYTES = 32;

/** The slot where a hash belongs, by its upper bits: the lower bits of a product depend on lower bits only. */
function firstSlot(hash: number, mask: number): number {
  return hash >>> Math.clz32(mask);
}

/** @returns the index of a slot for an entry of this hash; undefined when those near its own, or its hash, are taken */
function freeSlot(slots: Int32Array, hash: number): number | undefined {
  const mask = slots.length / 2 - 1;
  const first = firstSlot(hash, mask);
  let equal = 0;
  for (let i = 0; i < MAX_PROBES; i++) {
    const slot = 2 * ((first + i) & mask);
    if (slots[slot + 1] === 0) return slot;
    if (slots[slot] === hash && ++equal === MAX_EQUAL) return undefined;
  }
  return undefined;
}

/** An entry for which no slot is near its own is forgotten. */
function twiceAsMany(old: Int32Array): Int32Array<ArrayBuffer> {
  const slots = new Int32Array(2 * old.length);
  for (let at = 0; at < old.length; at += 2) {
    if (old[at + 1] === 0) continue;
    const slot = freeSlot(slots, old[at]!);
    if (slot === undefined) continue;
    slots[slot] = old[at]!;
    slots[slot + 1] = old[at + 1]!;
  }
  return slots;
}

/** Drawn by each process, or senders could choose bytes whose hashes fill the slots of other tenants' series. */
const MULTIPLIER = randomInt(2 ** 32) | 1;

function hashOf(scope: NamePart, metric: NamePart, bytes: Uint8Array, start: number, end: number): number {
  const ids = Math.imul(Math.imul(scope.id, 0x9e3779b1) ^ metric.id, 0x85ebca6b);
  return Math.imul(byteHash(bytes, start, end) ^ ids ^ (ids >>> 15), MULTIPLIER);
}
