import type { KinesisClient } from '@aws-sdk/client-kinesis';
import type { Pools } from '../catalogue/pools';
import type { SourceRows } from '../dictionary/series-source';
import { putUnitsOf } from '../platform/units';
import { type ExistingSeries, LookupsUsedUpError } from '../tenancy/existing-series';
import { SeriesLimitError } from '../tenancy/series-limit';
import type { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant } from '../tenancy/tenants';
import { putRecords } from './put';
import { rowRecords } from './row-records';

/**
 * How long a sender should wait if its tenant is at its limit of series, in ms. Once an hour, series without
 * samples for a day are removed from the count.
 */
const SERIES_RETRY_MS = 3_600_000;

export interface SampleWriterDependencies {
  readonly kinesis: KinesisClient;
  readonly stream: string;
  readonly meter: TenantMeter;
  readonly existingSeries: ExistingSeries;
  readonly pools: Pools;
}

/** Puts rows into the stream, within the tenant's limit of series, and counts them in the tenant's usage. */
export class SampleWriter {
  constructor(private readonly dependencies: SampleWriterDependencies) {}

  /**
   * Puts rows into the stream. Returns once every accepted sample is there (DESIGN.md, rule 1). If the tenant
   * is at its limit of series, drops the samples of new series.
   *
   * @param samples number of samples in `sources`
   * @returns number of samples that were dropped
   * @throws {SeriesLimitError} when all samples would be dropped, or too many sources had to be looked up to
   *   tell which series are new
   * @throws {StreamUnavailableError} when the stream does not take all records
   */
  async write(tenant: Tenant, sources: readonly SourceRows[], samples: number): Promise<number> {
    const { meter, existingSeries } = this.dependencies;
    if (!meter.isFullOfSeries(tenant)) {
      await this.putCounted(tenant, sources, samples);
      return 0;
    }
    const limit = meter.limits(tenant).series;
    const { kept, dropped } = await existingSeries.keepExisting(tenant, sources).catch((error: unknown) => {
      if (error instanceof LookupsUsedUpError) throw new SeriesLimitError(limit, error.waitMs);
      throw error;
    });
    if (kept.length === 0 && dropped > 0) throw new SeriesLimitError(limit, SERIES_RETRY_MS);
    await this.putCounted(tenant, kept, samples - dropped);
    return dropped;
  }

  /**
   * Puts rows into the stream, and neither checks the tenant's limits nor counts usage. Operators' imports
   * use it.
   *
   * @returns the bytes of each record
   * @throws {StreamUnavailableError} when the stream does not take all records
   */
  async put(tenant: Tenant, sources: readonly SourceRows[]): Promise<number[]> {
    const { kinesis, stream, pools } = this.dependencies;
    await pools.assign(sources);
    const records = rowRecords(tenant, sources);
    await putRecords(kinesis, stream, records);
    return records.map(({ data }) => data.length);
  }

  private async putCounted(tenant: Tenant, sources: readonly SourceRows[], samples: number): Promise<void> {
    const sizes = await this.put(tenant, sources);
    this.dependencies.meter.count(tenant, {
      samples,
      streamBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
      streamUnits: sizes.reduce((sum, bytes) => sum + putUnitsOf(bytes), 0),
    });
  }
}
