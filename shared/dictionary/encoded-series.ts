import type { Labels } from '../model/labels';
import { ByteTable } from './byte-table';
import type { SeriesDictionary, SeriesNames } from './series-dictionary';

/**
 * A protocol's decoder: returns the labels of the series that a key names.
 *
 * @throws {InvalidSeriesError} when the key names no valid series
 */
type DecodeLabels = (bytes: Buffer, start: number, end: number, scope: number, part: number) => Labels;

/**
 * Finds series by the bytes with which senders of one protocol name them, so that post need not decode the
 * bytes again. A key also has two numbers, `scope` and `part`, whose meaning the protocol defines.
 */
export class EncodedSeries implements SeriesNames {
  private readonly table: ByteTable;
  private readonly namer: number;

  constructor(
    private readonly dictionary: SeriesDictionary,
    private readonly decode: DecodeLabels,
  ) {
    this.table = new ByteTable((bytes) => dictionary.use(bytes));
    this.namer = dictionary.addNames(this);
  }

  /** Returns the number of the series that a key names; 0 if the key is unknown. */
  find(bytes: Buffer, start: number, end: number, scope = 0, part = 0): number {
    const entry = this.table.find(bytes, start, end, scope, part);
    return entry === 0 ? 0 : this.table.valueOf(entry);
  }

  /**
   * Adds the key that the preceding {@link find} did not find, and its series, if the dictionary lacks it.
   *
   * @returns the number of the series
   * @throws {InvalidSeriesError} when the key names no valid series, or its labels are too long
   */
  add(bytes: Buffer, start: number, end: number, scope = 0, part = 0): number {
    const { dictionary } = this;
    const labels = this.decode(bytes, start, end, scope, part);
    const known = dictionary.size;
    const series = dictionary.numberOf(labels);
    const entry = this.table.add(bytes, start, end, series, scope, part);
    if (series > known) dictionary.nameBy(series, this.namer, entry);
    return series;
  }

  labelsOf(entry: number): Labels {
    const { table } = this;
    const bytes = table.bytesOf(entry);
    return this.decode(bytes, 0, bytes.length, table.scopeOf(entry), table.partOf(entry));
  }
}
