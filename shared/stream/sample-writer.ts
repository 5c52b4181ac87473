import type { KinesisClient } from '@aws-sdk/client-kinesis';
import type { SourceRows } from '../dictionary/series-source';
import { putUnitsOf } from '../platform/units';
import { type KnownSeries, LookupsUsedUpError } from '../tenancy/known-series';
import { SeriesLimitError } from '../tenancy/series-limit';
import type { TenantMeter } from '../tenancy/tenant-meter';
import type { Tenant } from '../tenancy/tenants';
import type { Pools } from './pools';
import { putRecords } from './put';
import { rowRecords } from './row-records';

/**
 * How long a sender whose tenant is at its limit of series is told to wait before it tries again, in ms. It
 * is an hour, because once an hour, series without samples for a day are removed from the count.
 */
const SERIES_RETRY_MS = 3_600_000;

export interface SampleWriterDependencies {
  readonly kinesis: KinesisClient;
  /** Name of the stream. */
  readonly stream: string;
  readonly meter: TenantMeter;
  readonly knownSeries: KnownSeries;
  readonly pools: Pools;
}

/** Writes rows into the stream, and counts them for their tenant. */
export class SampleWriter {
  constructor(private readonly dependencies: SampleWriterDependencies) {}

  /**
   * Returns once every accepted sample is in the stream (DESIGN.md, rule 1). A tenant at its limit of series
   * may only send samples of known series; the others are dropped.
   *
   * @param samples the number of samples in `sources`
   * @returns the number of samples dropped because of the limit of series
   * @throws {SeriesLimitError} when the limit leaves no sample, or the look-ups of sources are used up
   * @throws {StreamUnavailableError} when the stream does not take all records
   */
  async write(tenant: Tenant, sources: readonly SourceRows[], samples: number): Promise<number> {
    const { meter, knownSeries } = this.dependencies;
    if (!meter.isFullOfSeries(tenant)) {
      await this.putCounted(tenant, sources, samples);
      return 0;
    }
    const limit = meter.limits(tenant).series;
    const { kept, dropped } = await knownSeries.keep(tenant, sources).catch((error: unknown) => {
      if (error instanceof LookupsUsedUpError) throw new SeriesLimitError(limit, error.waitMs);
      throw error;
    });
    if (kept.length === 0 && dropped > 0) throw new SeriesLimitError(limit, SERIES_RETRY_MS);
    await this.putCounted(tenant, kept, samples - dropped);
    return dropped;
  }

  /**
   * Puts rows into the stream without checking the tenant's limits or counting usage, as an operator's import
   * does.
   *
   * @returns the number of bytes of each record
   * @throws {StreamUnavailableError} when the stream does not take all records
   */
  async put(tenant: Tenant, sources: readonly SourceRows[]): Promise<number[]> {
    const { kinesis, stream, pools } = this.dependencies;
    await pools.settle(sources);
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
