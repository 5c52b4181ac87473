import { ByteTable, byteHash } from '../../dictionary/byte-table';
import { type LabelSet, NamedSeries } from '../../dictionary/named-series';
import { MAX_SERIES_BYTES, type SeriesDictionary } from '../../dictionary/series-dictionary';
import { labelsOf, METRIC_NAME } from '../../model/labels';
import { type ExpectedKeys, type HeadLookup, type LineReader, parseHead, unescapeName } from './line-reader';

/**
 * Maximum number of fields of a head, which is a measurement with its tags. A single line may have more. The number is
 * bounded because look-ups compare the keys one by one, and adding a field copies all keys.
 */
const MAX_FIELDS = 256;
/** Approximate memory of a head, in bytes, without the head's fields and the bytes of their keys. */
const HEAD_BYTES = 130;
const FIELDS_BYTES = 400;

/**
 * Field keys of a head, in the order of its lines, and the names of the fields' series. Heads with equal fields
 * share one object.
 */
interface Fields {
  readonly measurement: string;
  /** Bytes of all keys, joined without separators, with their escapes. */
  readonly keys: Uint8Array;
  /** For each key, the index in `keys` just past its last byte. */
  readonly keyEnds: Int32Array;
  /** Ids of the series' names, from {@link NamedSeries.nameOf}. */
  readonly names: Int32Array;
  readonly longestKey: number;
  /** Whether several heads may share this object. They may if all of its keys come from the first line of a head. */
  readonly isShared: boolean;
}

/** A key in a line that the line's head does not have yet. */
interface AddedKey {
  readonly key: Buffer;
  /**
   * Index, in the head, of the nearest key before this one in the line that the head already has; -1 if there is none.
   */
  readonly after: number;
}

/**
 * A measurement and tag set, with the fields that its lines have had. A key is identified by its index in
 * {@link keys}. This index can differ from the key's position in a line, because senders omit keys and some
 * Telegraf plugins vary the order of keys.
 */
export class LineHead implements ExpectedKeys {
  /** The series' numbers by index; undefined while they are consecutive from {@link firstSeries} on. */
  private series: Int32Array | undefined;
  private firstSeries = 0;

  constructor(
    /** Length of measurement and tags in bytes. */
    readonly length: number,
    readonly labelSet: LabelSet,
    /** Number of bytes of measurement and tags that count towards each series' labels. */
    readonly labelBytes: number,
    public fields: Fields,
  ) {}

  get keys(): Uint8Array {
    return this.fields.keys;
  }

  get keyEnds(): Int32Array {
    return this.fields.keyEnds;
  }

  get count(): number {
    return this.fields.keyEnds.length;
  }

  seriesAt(index: number): number {
    return this.series === undefined ? this.firstSeries + index : this.series[index]!;
  }

  /**
   * Replaces the head's fields.
   *
   * @param series numbers of the series, in the order of the fields
   */
  setFields(fields: Fields, series: Int32Array): void {
    this.fields = fields;
    const [first = 0] = series;
    this.firstSeries = first;
    let index = 0;
    while (index < series.length && series[index] === first + index) index++;
    this.series = index === series.length ? undefined : series.slice();
  }

  /** Approximate memory of the parts that the head does not share with other heads, in bytes. */
  get bytes(): number {
    const { fields, series } = this;
    return (
      HEAD_BYTES +
      (series === undefined ? 0 : 100 + series.byteLength) +
      (fields.isShared ? 0 : bytesOf(fields))
    );
  }

  /**
   * Returns the index of a key among the expected keys; -1 when the key is unknown. Also returns -1 after a line with
   * more than {@link MAX_FIELDS} fields, because the next line replaces all fields.
   */
  indexOf(key: Buffer): number {
    const { keys, keyEnds } = this;
    if (keyEnds.length > MAX_FIELDS) return -1;
    const { length } = key;
    for (let index = 0, from = 0; index < keyEnds.length; index++) {
      const end = keyEnds[index]!;
      if (end - from === length) {
        let i = 0;
        while (i < length && key[i] === keys[from + i]) i++;
        if (i === length) return index;
      }
      from = end;
    }
    return -1;
  }

  keyAt(index: number): Uint8Array {
    return this.keys.subarray(index === 0 ? 0 : this.keyEnds[index - 1]!, this.keyEnds[index]);
  }
}

function bytesOf({ keys, keyEnds, names }: Fields): number {
  return FIELDS_BYTES + keys.length + keyEnds.byteLength + names.byteLength;
}

/** Buffer for the series of a head. All heads reuse it. */
let seriesScratch = new Int32Array(1024);

/** A tenant's known measurements and tag sets, found by the bytes that senders use for them. */
export class LineHeads implements HeadLookup<LineHead> {
  private readonly table: ByteTable;
  private readonly heads: LineHead[] = [];
  private readonly named: NamedSeries;
  /**
   * Fields of heads' first lines, by a hash of measurement and keys. A Telegraf plugin sends the same fields from every
   * host.
   */
  private readonly firstFields = new Map<number, Fields>();

  constructor(private readonly dictionary: SeriesDictionary) {
    this.table = new ByteTable((bytes) => dictionary.use(bytes));
    this.named = dictionary.tables(NamedSeries);
  }

  guess(body: Buffer, at: number): LineHead | undefined {
    const entry = this.table.guess(body, at);
    return entry === 0 ? undefined : this.heads[this.table.valueOf(entry)];
  }

  find(body: Buffer, start: number, end: number): LineHead | undefined {
    const entry = this.table.find(body, start, end);
    return entry === 0 ? undefined : this.heads[this.table.valueOf(entry)];
  }

  /**
   * Creates a head, after {@link find} returned none.
   *
   * @returns the head; or a string with the reason why its series are rejected
   */
  add(body: Buffer, start: number, end: number): LineHead | string {
    const parsed = parseHead(body.toString('utf8', start, end));
    if (typeof parsed === 'string') return parsed;
    const { measurement, tags } = parsed;
    if (new Set(tags.map(([name]) => name)).size !== tags.length) return 'a tag occurs twice';
    if (tags.some(([name]) => name === METRIC_NAME))
      return `the tag ${METRIC_NAME} is the name of the series`;
    let labelBytes = Buffer.byteLength(measurement) + 1;
    for (const [name, value] of tags) labelBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    const labelSet = this.named.setOf(labelsOf(...tags));
    const head = new LineHead(end - start, labelSet, labelBytes, noFields(measurement));
    this.table.add(body, start, end, this.heads.push(head) - 1);
    this.dictionary.use(head.bytes);
    return head;
  }

  /**
   * Adds a line's unknown fields to its head, then writes the indexes of all its fields to the reader's `keyIndexes`.
   *
   * @returns the reason why the fields are rejected; undefined when they are accepted
   */
  learn(head: LineHead, body: Buffer, line: LineReader<LineHead>): string | undefined {
    const { count, keyIndexes, keyStarts, keyEnds } = line;
    const { measurement } = head.fields;
    let unknown = 0;
    for (let i = 0; i < count; i++) if (keyIndexes[i] === -1) unknown++;
    if (head.count > 0 && head.count + unknown > MAX_FIELDS) {
      this.setFields(head, noFields(measurement));
      keyIndexes.fill(-1, 0, count);
    }
    const hash = head.count === 0 ? hashOfKeys(body, line) : 0;
    let fields = head.count === 0 ? this.firstFields.get(hash) : undefined;
    if (fields === undefined || fields.measurement !== measurement || !areKeys(fields, body, line)) {
      const added = addedKeys(body, line);
      const isFirst = added.length === count;
      fields = this.fieldsWith(head, added, isFirst);
      if (isFirst && head.count === 0) {
        this.firstFields.set(hash, fields);
        this.dictionary.use(bytesOf(fields) + 60);
      }
    }
    const longest = fields.longestKey + head.labelBytes;
    if (longest > MAX_SERIES_BYTES) return `name and tags of ${longest} bytes exceed ${MAX_SERIES_BYTES}`;
    this.setFields(head, fields);
    const indexOf = fields.isShared ? undefined : indexesIn(head);
    for (let i = 0; i < count; i++)
      keyIndexes[i] = indexOf === undefined ? i : indexOf(body.subarray(keyStarts[i], keyEnds[i]));
    return undefined;
  }

  /**
   * Creates a new list of the head's fields that includes `added`. Each added field is placed after the known field
   * that precedes it in its line.
   *
   * @param areFirst whether `added` has all fields of a line, in the line's order. If so, other heads may share the
   *   result.
   */
  private fieldsWith(head: LineHead, added: readonly AddedKey[], areFirst: boolean): Fields {
    const { measurement, names: known, longestKey } = head.fields;
    const followers = Map.groupBy(added, ({ after }) => after);
    const keys: Uint8Array[] = [];
    const names: number[] = [];
    for (let index = -1; index < head.count; index++) {
      if (index >= 0) {
        keys.push(head.keyAt(index));
        names.push(known[index]!);
      }
      for (const { key } of followers.get(index) ?? []) {
        keys.push(key);
        names.push(this.nameOf(measurement, key));
      }
    }
    let end = 0;
    return {
      measurement,
      keyEnds: Int32Array.from(keys, ({ length }) => (end += length)),
      // Copy the bytes: a small buffer is a view of a larger one, and would keep it alive.
      keys: Uint8Array.from(Buffer.concat(keys)),
      names: Int32Array.from(names),
      longestKey: added.reduce((most, { key }) => Math.max(most, key.length), longestKey),
      isShared: areFirst && head.count === 0,
    };
  }

  private setFields(head: LineHead, fields: Fields): void {
    const before = head.bytes;
    const { names } = fields;
    if (seriesScratch.length < names.length) seriesScratch = new Int32Array(2 * names.length);
    const series = seriesScratch.subarray(0, names.length);
    series.set(names);
    this.named.numberAll(head.labelSet, series);
    head.setFields(fields, series);
    this.dictionary.use(head.bytes - before);
  }

  private nameOf(measurement: string, key: Uint8Array): number {
    const text = Buffer.from(key.buffer, key.byteOffset, key.length).toString('utf8');
    const name = Buffer.from(`${measurement}_${unescapeName(text)}`);
    return this.named.nameOf(name, 0, name.length);
  }
}

function noFields(measurement: string): Fields {
  return {
    measurement,
    keys: new Uint8Array(0),
    keyEnds: new Int32Array(0),
    names: new Int32Array(0),
    longestKey: 0,
    isShared: true,
  };
}

/** Returns a function that finds the index of a known key. It is fast even for a head with very many keys. */
function indexesIn(head: LineHead): (key: Buffer) => number {
  if (head.count <= MAX_FIELDS) return (key) => head.indexOf(key);
  const indexes = new Map<string, number>();
  for (let index = 0; index < head.count; index++)
    indexes.set(Buffer.from(head.keyAt(index)).toString('latin1'), index);
  return (key) => indexes.get(key.toString('latin1'))!;
}

/** Returns the line's unknown keys without duplicates. */
function addedKeys(
  body: Buffer,
  { count, keyIndexes, keyStarts, keyEnds }: LineReader<LineHead>,
): AddedKey[] {
  const added = new Map<string, AddedKey>();
  let after = -1;
  for (let i = 0; i < count; i++) {
    if (keyIndexes[i] !== -1) {
      after = keyIndexes[i]!;
      continue;
    }
    const key = body.subarray(keyStarts[i], keyEnds[i]);
    const text = key.toString('latin1');
    if (!added.has(text)) added.set(text, { key, after });
  }
  return [...added.values()];
}

function hashOfKeys(body: Buffer, { count, keyStarts, keyEnds }: LineReader<LineHead>): number {
  let hash = count;
  for (let i = 0; i < count; i++)
    hash = Math.imul(hash ^ byteHash(body, keyStarts[i]!, keyEnds[i]!), 0x01000193);
  return hash;
}

/** Returns whether a line has exactly these keys, in this order. */
function areKeys(fields: Fields, body: Buffer, { count, keyStarts, keyEnds }: LineReader<LineHead>): boolean {
  if (fields.keyEnds.length !== count) return false;
  let from = 0;
  for (let i = 0; i < count; i++) {
    const end = fields.keyEnds[i]!;
    const start = keyStarts[i]!;
    if (keyEnds[i]! - start !== end - from) return false;
    for (let at = start; from < end; at++, from++) if (body[at] !== fields.keys[from]) return false;
  }
  return true;
}
