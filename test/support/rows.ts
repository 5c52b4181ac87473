import { EncodedSeries } from '../../shared/dictionary/encoded-series';
import { InvalidSeriesError, type SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import type { SourceRow, SourceRows } from '../../shared/dictionary/series-source';
import type { Labels } from '../../shared/model/labels';

/** Series whose names in the row are their labels as JSON, in any order. */
export class JsonSeries extends EncodedSeries {
  constructor(dictionary: SeriesDictionary) {
    super(dictionary, (bytes, start, end) => {
      const labels = JSON.parse(bytes.toString('utf8', start, end)) as [string, string][];
      if (labels.length === 0) throw new InvalidSeriesError('no labels');
      return labels.sort(([a], [b]) => (a < b ? -1 : 1));
    });
  }

  numberOf(labels: Labels): number {
    const bytes = Buffer.from(JSON.stringify(labels));
    return this.find(bytes, 0, bytes.length) || this.add(bytes, 0, bytes.length);
  }
}

/** A row of several series, given by their labels, with the bits of their values. */
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
