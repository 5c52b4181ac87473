import { LRUCache } from 'lru-cache';
import type { Catalogue } from '../catalogue/catalogue';
import { seriesOf } from '../catalogue/source-series';
import { type Labels, labelsKey, seriesKeys } from '../model/labels';
import { sourceIdOf } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { labelsOfSource, type SourceRow, type SourceRows } from '../protocol/protocol';
import type { Tenant } from './tenants';

const PARALLEL = 16;
const KNOWN_MS = 30_000;

/** The series that exist; asked only for tenants that have reached their limit of series. */
export class KnownSeries {
  /** Keys of the series' labels, by source. */
  private readonly known = new LRUCache<string, ReadonlySet<string>>({
    ttl: KNOWN_MS,
    maxSize: 1_000_000,
    sizeCalculation: (series) => series.size + 1,
  });

  constructor(private readonly catalogue: Catalogue) {}

  /** Drops the samples of new series. */
  async keep(
    tenant: Tenant,
    sources: readonly SourceRows[],
  ): Promise<{ readonly kept: SourceRows[]; readonly dropped: number }> {
    let dropped = 0;
    const kept = await mapLimited(sources, PARALLEL, async ([source, rows]) => {
      const known = await this.seriesOf(tenant, labelsOfSource(source));
      const left = rows.flatMap((row) => {
        const old = knownOf(row, known);
        dropped += row.values.length - old.values.length;
        return old.values.length === 0 ? [] : [old];
      });
      return [source, left] as const;
    });
    return { kept: kept.filter(([, rows]) => rows.length > 0), dropped };
  }

  private async seriesOf(tenant: Tenant, source: Labels): Promise<ReadonlySet<string>> {
    const sourceId = sourceIdOf(tenant.id, source);
    const copy = this.known.get(sourceId);
    if (copy !== undefined) return copy;
    const series = new Set(seriesOf(await this.catalogue.source(tenant.id, sourceId)).map(labelsKey));
    this.known.set(sourceId, series);
    return series;
  }
}

/** Removes new series from a row. */
function knownOf(row: SourceRow, known: ReadonlySet<string>): SourceRow {
  const series = row.columns
    .series()
    .flatMap((part) =>
      seriesKeys(part).map((key, i) => ({ key, labels: part.labels, names: [part.names[i]!] })),
    );
  const kept = series.flatMap(({ key }, i) => (known.has(key) ? [i] : []));
  if (kept.length === series.length) return row;
  return {
    timestamp: row.timestamp,
    columns: { key: `${row.columns.key}!${kept.join(' ')}`, series: () => kept.map((i) => series[i]!) },
    values: BigUint64Array.from(kept, (i) => row.values[i]!),
  };
}
