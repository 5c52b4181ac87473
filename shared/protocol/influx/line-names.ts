import { ByteTable } from '../../dictionary/byte-table';
import { type LabelSet, NamedSeries } from '../../dictionary/named-series';
import type { SeriesDictionary } from '../../dictionary/series-dictionary';
import { labelsOf, METRIC_NAME } from '../../model/labels';
import { EQUALS, type KnownNames, parseHead, SPACE, unescapeName } from './line-reader';

/** Approximate memory of a head without its bytes, in bytes. */
const HEAD_BYTES = 130;
/** Approximate memory of a measurement without its text, in bytes. */
const MEASUREMENT_BYTES = 150;

/** A measurement and tag set. */
export interface LineHead {
  /** Length of measurement and tags in bytes. */
  readonly length: number;
  readonly labelSet: LabelSet;
  /** Number of bytes of measurement and tags that count towards each series' labels. */
  readonly labelBytes: number;
  readonly measurement: string;
  /** Number of the measurement in {@link LineNames}. */
  readonly measurementNumber: number;
}

/**
 * A tenant's known measurements with tag sets, and the field keys of each measurement, found by the bytes that senders
 * use for them.
 */
export class LineNames implements KnownNames<LineHead> {
  private readonly headTable: ByteTable;
  private readonly heads: LineHead[] = [];
  private readonly measurements = new Map<string, number>();
  /** Numbers of the names of series, by the bytes of a field key. The scope is the number of the measurement. */
  private readonly keyTable: ByteTable;
  private readonly named: NamedSeries;
  guessedName = -1;

  constructor(private readonly dictionary: SeriesDictionary) {
    this.headTable = new ByteTable((bytes) => dictionary.use(bytes));
    this.keyTable = new ByteTable((bytes) => dictionary.use(bytes));
    this.named = dictionary.tables(NamedSeries);
  }

  guessHead(body: Buffer, at: number): LineHead | undefined {
    const entry = this.headTable.guess(body, at, SPACE);
    return entry === 0 ? undefined : this.heads[this.headTable.valueOf(entry)];
  }

  findHead(body: Buffer, start: number, end: number): LineHead | undefined {
    const entry = this.headTable.find(body, start, end);
    return entry === 0 ? undefined : this.heads[this.headTable.valueOf(entry)];
  }

  /**
   * Creates a head, after {@link findHead} returned none.
   *
   * @returns the head; or a string with the reason why its series are refused
   */
  addHead(body: Buffer, start: number, end: number): LineHead | string {
    const parsed = parseHead(body.toString('utf8', start, end));
    if (typeof parsed === 'string') return parsed;
    const { measurement, tags } = parsed;
    if (new Set(tags.map(([name]) => name)).size !== tags.length) return 'a tag occurs twice';
    if (tags.some(([name]) => name === METRIC_NAME))
      return `the tag ${METRIC_NAME} is the name of the series`;
    let labelBytes = Buffer.byteLength(measurement) + 1;
    for (const [name, value] of tags) labelBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    const labelSet = this.named.setOf(labelsOf(...tags));
    const measurementNumber = this.numberOf(measurement);
    const head = { length: end - start, labelSet, labelBytes, measurement, measurementNumber };
    this.headTable.add(body, start, end, this.heads.push(head) - 1);
    this.dictionary.use(HEAD_BYTES);
    return head;
  }

  private numberOf(measurement: string): number {
    let number = this.measurements.get(measurement);
    if (number === undefined) {
      number = this.measurements.size;
      this.measurements.set(measurement, number);
      this.dictionary.use(MEASUREMENT_BYTES + 2 * measurement.length);
    }
    return number;
  }

  guessKey({ measurementNumber }: LineHead, body: Buffer, at: number): number {
    const entry = this.keyTable.guess(body, at, EQUALS, measurementNumber);
    if (entry === 0) return -1;
    this.guessedName = this.keyTable.valueOf(entry);
    return at + this.keyTable.lengthOf(entry);
  }

  /**
   * Returns the number of a series.
   *
   * @param name the number of the series' name if the reader guessed it; else -1
   * @param start start of the field's key, with its escapes
   */
  seriesOf(head: LineHead, name: number, body: Buffer, start: number, end: number): number {
    return this.named.seriesOf(head.labelSet, name === -1 ? this.nameOf(head, body, start, end) : name);
  }

  private nameOf(
    { measurement, measurementNumber }: LineHead,
    body: Buffer,
    start: number,
    end: number,
  ): number {
    const known = this.keyTable.find(body, start, end, measurementNumber);
    if (known !== 0) return this.keyTable.valueOf(known);
    const text = Buffer.from(`${measurement}_${unescapeName(body.toString('utf8', start, end))}`);
    const name = this.named.nameOf(text, 0, text.length);
    this.keyTable.add(body, start, end, name, measurementNumber);
    return name;
  }
}
