import type { Labels } from '../model/labels';
import { labelsHash, textBytesOf } from '../model/labels-hash';
import { ByteTable } from './byte-table';
import {
  InvalidSeriesError,
  MAX_SERIES_BYTES,
  type SeriesDictionary,
  type SeriesNamer,
} from './series-dictionary';

/**
 * A protocol's decoder: returns the labels of the series that a key names.
 *
 * @throws {InvalidSeriesError} when the key names no valid series
 */
type DecodeLabels = (bytes: Buffer, start: number, end: number, scope: number, part: number) => Labels;

/**
 * Finds series by the bytes that name them in one protocol, so that post need not decode the same bytes again. A key
 * also has two numbers, `scope` and `part`, whose meaning the protocol defines.
 */
export class EncodedSeries implements SeriesNamer {
  private readonly table: ByteTable;
  private readonly namer: number;

  constructor(
    private readonly dictionary: SeriesDictionary,
    private readonly decode: DecodeLabels,
  ) {
    this.table = new ByteTable((bytes) => dictionary.use(bytes));
    this.namer = dictionary.addNamer(this);
  }

  /** Returns the number of the series that a key names; 0 if the key is unknown. */
  find(bytes: Buffer, start: number, end: number, scope = 0, part = 0): number {
    const entry = this.table.find(bytes, start, end, scope, part);
    return entry === 0 ? 0 : this.table.valueOf(entry);
  }

  /**
   * Adds a key. Call it after {@link find} returned 0 for the same key. Also adds the key's series if the dictionary
   * lacks it.
   *
   * @returns the number of the series
   * @throws {InvalidSeriesError} when the key names no valid series, or its labels are too long
   */
  add(bytes: Buffer, start: number, end: number, scope = 0, part = 0): number {
    const { dictionary, table, namer } = this;
    const labels = this.decode(bytes, start, end, scope, part);
    const { number: hash, keyBytes } = labelsHash.of(labels);
    const textBytes = textBytesOf(keyBytes, labels);
    if (textBytes > MAX_SERIES_BYTES)
      throw new InvalidSeriesError(`labels of ${textBytes} bytes; at most ${MAX_SERIES_BYTES} are allowed`);
    const source = dictionary.sourceOf(labels);
    const entry = table.add(bytes, start, end, 0, scope, part);
    const digest = { hash, keyBytes, labelCount: labels.length };
    const series = dictionary.numberOf(source, digest, { namer, first: entry, second: 0 });
    table.setValue(entry, series);
    return series;
  }

  labelsOf(entry: number): Labels {
    const { table } = this;
    const bytes = table.bytesOf(entry);
    return this.decode(bytes, 0, bytes.length, table.scopeOf(entry), table.partOf(entry));
  }
}
