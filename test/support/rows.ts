import { ByteTable } from '../../shared/dictionary/byte-table';
import type { SeriesDictionary, SeriesNames } from '../../shared/dictionary/series-dictionary';
import type { SourceRow, SourceRows } from '../../shared/dictionary/series-source';
import { type Labels, labelsKey } from '../../shared/model/labels';

/** Series that are named by the JSON of their labels. */
class JsonSeries implements SeriesNames {
  private readonly namer: number;
  private readonly table = new ByteTable(() => {});

  constructor(private readonly dictionary: SeriesDictionary) {
    this.namer = dictionary.addNames(this);
  }

  numberOf(labels: Labels): number {
    const known = this.dictionary.size;
    const series = this.dictionary.numberOf(labels);
    const key = Buffer.from(labelsKey(labels));
    if (series > known) this.dictionary.nameBy(series, this.namer, this.table.add(key, 0, key.length, 0));
    return series;
  }

  labelsOf(entry: number): Labels {
    return JSON.parse(this.table.bytesOf(entry).toString()) as Labels;
  }
}

/** A row of some series, given by their labels, with the bits of their values. */
export function rowOfSeries(
  dictionary: SeriesDictionary,
  timestamp: number,
  series: readonly Labels[],
  values: BigUint64Array,
): SourceRow {
  const json = dictionary.tables(JsonSeries);
  return { timestamp, series: Int32Array.from(series, (labels) => json.numberOf(labels)), values };
}

/** The rows of a source. */
export function sourceRows(
  dictionary: SeriesDictionary,
  source: Labels,
  rows: readonly SourceRow[],
): SourceRows {
  return [dictionary.sourceOf(source), rows];
}
