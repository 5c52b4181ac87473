import type { PostDependencies } from '../../shared/compose/post';
import { overLimit } from '../../shared/http/metered';
import { putUnitsOf } from '../../shared/platform/units';
import type { SourceRows } from '../../shared/protocol/protocol';
import { putRecords } from '../../shared/stream/put';
import { rowRecords } from '../../shared/stream/row-records';
import { LookupsUsedUpError } from '../../shared/tenancy/known-series';
import type { Tenant } from '../../shared/tenancy/tenants';

/** When a tenant may try new series again: series without samples for a day leave the count by the hour. */
const SERIES_RETRY_S = 3600;

/** Writes a request's rows into the stream, and counts them for their tenant. */
export class SampleWriter {
  constructor(
    private readonly dependencies: Pick<
      PostDependencies,
      'kinesis' | 'stream' | 'meter' | 'knownSeries' | 'pools'
    >,
  ) {}

  /**
   * Returns once every sample is in the stream (DESIGN.md, rule 1).
   *
   * @param samples the number of samples in `sources`
   * @returns how many samples were dropped because the tenant has reached its limit of series, and theirs are new
   * @throws {HttpError} 429 when the limit leaves no sample, or too many sources were looked up to tell
   * @throws {StreamUnavailableError} when the stream does not take all
   */
  async write(tenant: Tenant, sources: readonly SourceRows[], samples: number): Promise<number> {
    const { meter, knownSeries } = this.dependencies;
    if (!meter.isFullOfSeries(tenant)) {
      await this.put(tenant, sources, samples);
      return 0;
    }
    const limit = meter.limits(tenant).series;
    const { kept, dropped } = await knownSeries.keep(tenant, sources).catch((error: unknown) => {
      if (error instanceof LookupsUsedUpError)
        throw overLimit('series', limit, Math.ceil(error.waitMs / 1000));
      throw error;
    });
    if (kept.length === 0 && dropped > 0) throw overLimit('series', limit, SERIES_RETRY_S);
    await this.put(tenant, kept, samples - dropped);
    return dropped;
  }

  private async put(tenant: Tenant, sources: readonly SourceRows[], samples: number): Promise<void> {
    const { kinesis, stream, meter, pools } = this.dependencies;
    const records = rowRecords(tenant, sources, await pools.of(tenant.id, sources));
    await putRecords(kinesis, stream, records);
    const sizes = records.map(({ data }) => data.length);
    meter.count(tenant, {
      samples,
      streamBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
      streamUnits: sizes.reduce((sum, bytes) => sum + putUnitsOf(bytes), 0),
    });
  }
}
