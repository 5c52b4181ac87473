import type { KinesisClient } from '@aws-sdk/client-kinesis';
import type { SourceRows } from '../dictionary/series-source';
import { putUnitsOf } from '../platform/units';
import type { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant } from '../tenancy/tenants';
import type { Pools } from './pools';
import { putRecords } from './put';
import { rowRecords } from './row-records';
import type { OnDropped, SeriesLimit } from './series-limit';

export interface SampleWriterDependencies {
  readonly kinesis: KinesisClient;
  readonly stream: string;
  readonly meter: TenantMeter;
  readonly seriesLimit: SeriesLimit;
  readonly pools: Pools;
}

/**
 * Puts rows into the stream. A dictionary has already numbered their series. A row with a new series takes these
 * steps:
 *
 * - {@link SeriesLimit} checks that the series is within the tenant's limit.
 * - {@link Pools} looks up the pool of a source that this instance of post does not know, and gives the source a home.
 * - The home chooses a layout that has the series, and the record contains the layout's bytes ({@link rowRecords}).
 * - The ingester may write the row in a larger layout that other rows of the group have (ingest/common-layouts.ts).
 * - The ingester stores the layout and counts the series (ingest/ingest.ts).
 */
export class SampleWriter {
  constructor(private readonly dependencies: SampleWriterDependencies) {}

  /**
   * Puts rows into the stream. Returns once every accepted sample is in the stream (DESIGN.md, rule 1). If the tenant
   * is at its series limit, drops the samples of new series.
   *
   * @param samples number of samples in `sources`
   * @param onDropped called with the timestamp and series of dropped samples
   * @returns number of samples that were dropped
   * @throws {SeriesLimitError} when all samples would be dropped
   * @throws {StreamUnavailableError} when the stream does not accept all records
   */
  async write(
    tenant: Tenant,
    sources: readonly SourceRows[],
    samples: number,
    onDropped?: OnDropped,
  ): Promise<number> {
    const { meter, seriesLimit } = this.dependencies;
    const { kept, dropped } = await seriesLimit.admit(tenant, sources, onDropped);
    const sizes = await this.put(tenant, kept);
    meter.count(tenant, {
      samples: samples - dropped,
      streamBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
      streamUnits: sizes.reduce((sum, bytes) => sum + putUnitsOf(bytes), 0),
    });
    return dropped;
  }

  /**
   * Puts rows into the stream. Neither checks the tenant's limits nor counts usage. Used by operators' imports.
   *
   * @returns the size of each record, in bytes
   * @throws {StreamUnavailableError} when the stream does not accept all records
   */
  async put(tenant: Tenant, sources: readonly SourceRows[]): Promise<number[]> {
    const { kinesis, stream, pools } = this.dependencies;
    await pools.assign(sources);
    const records = rowRecords(tenant, sources);
    await putRecords(kinesis, stream, records);
    return records.map(({ data }) => data.length);
  }
}
