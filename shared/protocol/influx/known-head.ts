import { BoundedCache } from '../../model/bounded-cache';
import { type Labels, labelsOf, METRIC_NAME, type NamedSeries, sourceOf } from '../../model/labels';
import {
  type KnownSource,
  MAX_SERIES_BYTES,
  type NamedList,
  type SeriesList,
  SeriesListId,
} from '../protocol';
import { byteHash } from '../table-memory';
import { type ExpectedKeys, type LineHead, parseHead, unescapeName } from './line-reader';

/** Fields that are searched one by one; more have an index, which takes ten times their memory. */
const MAX_SEARCHED = 256;
/** Fields that are known of one head, unless a single line has more, and bytes of their keys: adding one copies all. */
const MAX_FIELDS = 1_024;
const MAX_KEY_BYTES = 65_536;
/** Indexes for which a table of all places is made. */
const MIN_TABLE = 16;

/** Memory of a head beside its bytes and fields, and of a source, with their buckets, about. */
export const HEAD_BYTES = 180;
export const SOURCE_BYTES = 130;

/**
 * A measurement and tag set, and the fields that its lines have had.
 *
 * A line is then a list of indexes, whichever fields it has: senders leave some out, and Telegraf's plugins give them in any
 * order. A field keeps its index; {@link keys} are in the order of the lines, in which the reader looks for them.
 */
export class KnownHead implements ExpectedKeys, SeriesList {
  readonly id = new SeriesListId();
  source!: LineSource;
  /** Shared by heads with the same. */
  private fields = NO_FIELDS;
  /** Place among the keys by key in latin1, when there are many. */
  private places: Map<string, number> | undefined;
  private isShared = true;
  /** For the table: whether it finds this head, the next in the same bucket, and the head that came after this one. */
  isKept = false;
  next: KnownHead | undefined;
  successor: KnownHead | undefined;

  /** @param labelBytes that each series has of measurement and tags */
  constructor(
    /** Of its bytes. */
    readonly hash: number,
    /** Measurement and tags as they stand in a line, from `start` to `end`. */
    private readonly chunk: Buffer,
    private readonly start: number,
    private readonly end: number,
    readonly labelBytes: number,
  ) {}

  /** @returns as text, why the head's series are refused */
  static parse(text: string): (LineHead & { readonly labelBytes: number }) | string {
    const head = parseHead(text);
    if (typeof head === 'string') return head;
    const { measurement, tags } = head;
    const names = new Set(tags.map(([name]) => name));
    if (names.size !== tags.length) return 'a tag stands twice';
    if (names.has(METRIC_NAME)) return `the tag ${METRIC_NAME} is the name of the series`;
    const labelBytes = tags.reduce(
      (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
      Buffer.byteLength(measurement) + 1,
    );
    return { ...head, labelBytes };
  }

  /** Of measurement and tags as they stand in a line. */
  get length(): number {
    return this.end - this.start;
  }

  /** Whether the head stands in `body` from `start` to `end`. */
  isNamedBy(body: Uint8Array, start: number, end: number): boolean {
    if (end - start !== this.end - this.start || end > body.length || !this.isKept) return false;
    const { chunk } = this;
    // From the end: heads that follow each other have the same beginning.
    for (let at = end - 1, own = this.end - 1; at >= start; at--, own--)
      if (body[at] !== chunk[own]) return false;
    return true;
  }

  /** Measurement and tags. */
  get parsed(): LineHead {
    return parseHead(this.chunk.toString('utf8', this.start, this.end)) as LineHead;
  }

  get named(): NamedList {
    const text = this.chunk.toString('utf8', this.start, this.end);
    const labelsAt = text.indexOf(',');
    // A comma that is escaped, or none: then nothing is shared.
    if (labelsAt < 1 || text[labelsAt - 1] === '\\')
      return { labelsText: text, namesKey: `head ${this.id.number}` };
    return {
      labelsText: text.slice(labelsAt),
      namesKey: `${this.fields.number} ${text.slice(0, labelsAt)}`,
    };
  }

  /** Field keys as they stand in a line, one after the other. */
  get keys(): Uint8Array {
    return this.fields.keys;
  }

  /** Where each key ends. */
  get keyEnds(): Int32Array {
    return this.fields.keyEnds;
  }

  /** The index of each key. */
  get indexes(): Uint16Array {
    return this.fields.indexes;
  }

  /** Fields that are known. */
  get count(): number {
    return this.fields.keyEnds.length;
  }

  /** Estimate of its fields' memory. */
  get fieldBytes(): number {
    const { keys, count, isShared } = this;
    const ownBytes = isShared ? 0 : 300 + keys.length + 6 * count;
    return ownBytes + (count > MAX_SEARCHED ? 110 * count : 0);
  }

  /** True when so many further fields are to be known by a head of their own. */
  isFull(fields: number): boolean {
    return this.count > 0 && (this.count + fields > MAX_FIELDS || this.keys.length > MAX_KEY_BYTES);
  }

  /** @returns the place of a key among the keys, -1 when it is not known */
  placeOf(key: Buffer): number {
    const { keys, keyEnds } = this;
    if (keyEnds.length > MAX_SEARCHED) return this.placesByKey().get(key.toString('latin1')) ?? -1;
    const { length } = key;
    for (let place = 0, from = 0; place < keyEnds.length; place++) {
      const end = keyEnds[place]!;
      if (end - from === length) {
        let i = 0;
        while (i < length && key[i] === keys[from + i]) i++;
        if (i === length) return place;
      }
      from = end;
    }
    return -1;
  }

  /**
   * Adds keys of a line that are not known.
   *
   * @param added distinct, each with the place of the known key that it follows in the line, -1 for none
   * @returns why their series are refused; undefined when they were added
   */
  add(added: readonly AddedKey[]): string | undefined {
    const longest = added.reduce((most, { key }) => Math.max(most, key.length), 0) + this.labelBytes;
    if (longest > MAX_SERIES_BYTES) return `name and tags of ${longest} bytes exceed ${MAX_SERIES_BYTES}`;
    // Many are not sorted in, else their places would have to be found anew for each.
    const own = this.count + added.length > MAX_SEARCHED ? this.appended(added) : this.sortedIn(added);
    this.fields = sharedFields(own);
    this.isShared = this.fields !== own;
    return undefined;
  }

  /** In place where there is room: a copy of all for each of a thousand keys would be megabytes of garbage. */
  private appended(added: readonly AddedKey[]): Fields {
    const { count } = this;
    let end = this.keys.length;
    const keyBytes = added.reduce((sum, { key }) => sum + key.length, end);
    const keys = withRoom(this.keys, keyBytes, (bytes) => new Uint8Array(bytes));
    const keyEnds = withRoom(this.keyEnds, count + added.length, (length) => new Int32Array(length));
    const indexes = withRoom(this.indexes, count + added.length, (length) => new Uint16Array(length));
    for (const [i, { key }] of added.entries()) {
      keys.set(key, end);
      end += key.length;
      keyEnds[count + i] = end;
      indexes[count + i] = count + i;
      this.places?.set(key.toString('latin1'), count + i);
    }
    return { number: numbers++, keys, keyEnds, indexes };
  }

  /** Takes the fields of an earlier line with the same keys. @returns false when there was none, or this head has fields */
  adopt(body: Uint8Array, line: KeysOfLine): boolean {
    if (this.count > 0) return false;
    const known = lineFields.get(String(hashOfKeys(body, line)));
    if (known === undefined || !isOfKeys(known, body, line)) return false;
    for (let i = 0; i < line.count; i++)
      if (line.keyEnds[i]! - line.keyStarts[i]! + this.labelBytes > MAX_SERIES_BYTES) return false;
    this.fields = known;
    return true;
  }

  /** Lets further heads {@link adopt} the fields that this one has of its first line. */
  offer(body: Uint8Array, line: KeysOfLine): void {
    const { fields } = this;
    // Of more, there is room behind them in which a head adds others.
    if (this.count > MAX_SEARCHED || !isOfKeys(fields, body, line)) return;
    lineFields.set(String(hashOfKeys(body, line)), fields);
  }

  /** With each key after the one that it follows in its line. */
  private sortedIn(added: readonly AddedKey[]): Fields {
    const { count } = this;
    const followers = Map.groupBy(added.entries(), ([, { after }]) => after);
    const parts: Uint8Array[] = [];
    const indexes: number[] = [];
    for (let place = -1; place < count; place++) {
      if (place >= 0) {
        parts.push(this.keyAt(place));
        indexes.push(this.indexes[place]!);
      }
      for (const [i, { key }] of followers.get(place) ?? []) {
        parts.push(key);
        indexes.push(count + i);
      }
    }
    let end = 0;
    const keyEnds = Int32Array.from(parts, ({ length }) => (end += length));
    // A copy: small buffers are views of a larger one.
    const keys = Uint8Array.from(Buffer.concat(parts));
    return { number: numbers++, keys, keyEnds, indexes: Uint16Array.from(indexes) };
  }

  /** Made when asked for: they take ten times the head's memory, and are needed once. */
  series(indexes: ArrayLike<number>): NamedSeries[] {
    const { measurement, tags } = this.parsed;
    const placeOf = this.placesOf(indexes);
    const names = Array.from(
      indexes,
      (index) => `${measurement}_${unescapeName(this.keyAt(placeOf(index)).toString('utf8'))}`,
    );
    return [{ labels: labelsOf(...tags), names }];
  }

  /** @returns what gives an index's place among the keys */
  private placesOf({ length }: ArrayLike<number>): (index: number) => number {
    if (length < MIN_TABLE) return (index) => this.indexes.indexOf(index);
    const places = new Uint16Array(this.count);
    for (const [place, index] of this.indexes.entries()) places[index] = place;
    return (index) => places[index]!;
  }

  private keyAt(place: number): Buffer {
    const from = place === 0 ? 0 : this.keyEnds[place - 1]!;
    return Buffer.from(this.keys.buffer, this.keys.byteOffset + from, this.keyEnds[place]! - from);
  }

  private placesByKey(): Map<string, number> {
    this.places ??= new Map(
      Array.from(this.keyEnds, (_, place) => [this.keyAt(place).toString('latin1'), place]),
    );
    return this.places;
  }
}

/** A longer view of the same memory, or a copy with as much room again. Nobody else writes what lies behind `known`. */
function withRoom<A extends Uint8Array | Int32Array | Uint16Array>(
  known: A,
  length: number,
  make: (length: number) => A,
): A {
  const { buffer, byteOffset, BYTES_PER_ELEMENT } = known;
  if (known.length >= MAX_SEARCHED && byteOffset === 0 && buffer.byteLength >= length * BYTES_PER_ELEMENT) {
    const Kind = known.constructor as new (buffer: ArrayBufferLike, at: number, length: number) => A;
    return new Kind(buffer, 0, length);
  }
  const grown = make(2 * length);
  grown.set(known);
  return grown.subarray(0, length) as A;
}

/** A key that was not known. */
export interface AddedKey {
  readonly key: Buffer;
  /** Place of the known key before it in its line, -1 for none. */
  readonly after: number;
}

interface Fields extends Pick<ExpectedKeys, 'keys' | 'keyEnds'> {
  readonly indexes: Uint16Array;
  /** Never given twice. */
  readonly number: number;
}

let numbers = 0;

const NO_FIELDS: Fields = {
  number: numbers++,
  keys: new Uint8Array(0),
  keyEnds: new Int32Array(0),
  indexes: new Uint16Array(0),
};

/** The source of heads. Holds no labels: they are in the bytes of a head. */
export class LineSource implements KnownSource {
  place: object | undefined;
  /** Index among the sources of the request that had it last. */
  index = 0;
  /** The next in the table's same bucket. */
  next: LineSource | undefined;

  /** @param low and `high`: a hash of its labels */
  constructor(
    private readonly head: KnownHead,
    readonly low: number,
    readonly high: number,
  ) {}

  get labels(): Labels {
    return sourceOf.labels(labelsOf(...this.head.parsed.tags));
  }
}

/** Where a line has its field keys. */
export interface KeysOfLine {
  readonly count: number;
  readonly keyStarts: Int32Array;
  readonly keyEnds: Int32Array;
}

/** Fields in the order of the lines that had them first, by the hash of their keys. */
const lineFields = new BoundedCache<Fields>(
  8_000_000,
  ({ keys, keyEnds }) => 500 + keys.length + 6 * keyEnds.length,
);

function hashOfKeys(body: Uint8Array, { count, keyStarts, keyEnds }: KeysOfLine): number {
  let hash = count;
  for (let i = 0; i < count; i++)
    hash = Math.imul(hash ^ byteHash(body, keyStarts[i]!, keyEnds[i]!), 0x01000193);
  return hash;
}

/** Whether a line has just these keys, in their order, which is that of their indexes. */
function isOfKeys(fields: Fields, body: Uint8Array, { count, keyStarts, keyEnds }: KeysOfLine): boolean {
  if (fields.keyEnds.length !== count) return false;
  let from = 0;
  for (let i = 0; i < count; i++) {
    if (fields.indexes[i] !== i) return false;
    const end = fields.keyEnds[i]!;
    const start = keyStarts[i]!;
    if (keyEnds[i]! - start !== end - from) return false;
    for (let at = start; from < end; at++, from++) if (body[at] !== fields.keys[from]) return false;
  }
  return true;
}

/** Fields that many heads share: a plugin's measurement has the same ones on every host. */
const sharedLists = new BoundedCache<Fields>(
  8_000_000,
  ({ keys, keyEnds }, text) => 400 + text.length + keys.length + 6 * keyEnds.length,
);

function sharedFields(own: Fields): Fields {
  const { keys, keyEnds, indexes } = own;
  if (keyEnds.length > MAX_SEARCHED) return own;
  const text = [keys, keyEnds, indexes]
    .map(({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength).toString('latin1'),
    )
    .join();
  const known = sharedLists.get(text);
  if (known === undefined) sharedLists.set(text, own);
  return known ?? own;
}
