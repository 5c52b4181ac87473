import { Catalogue } from '../catalogue/catalogue';
import { PoolTable } from '../catalogue/pool-table';
import { variable } from '../platform/environment';
import { ENV } from '../platform/names';
import type { RuntimeSettings } from '../platform/settings';
import type { Table } from '../platform/table';
import { Pools } from '../stream/pools';
import { SampleWriter } from '../stream/sample-writer';
import { SeriesLimit } from '../stream/series-limit';
import { TenantMeter } from '../tenancy/tenant-meter';
import { UsageTable } from '../tenancy/usage-table';
import { streamClient } from './aws-clients';

/** Makes the writer of a function that puts samples into the stream, and the meter that counts usage. */
export function sampleWriter(table: Table, stage: RuntimeSettings) {
  const meter = new TenantMeter(new UsageTable(table), stage);
  const writer = new SampleWriter({
    kinesis: streamClient(),
    stream: variable(ENV.stream),
    meter,
    seriesLimit: new SeriesLimit(meter, new Catalogue(table, stage.retention)),
    pools: new Pools(new PoolTable(table, stage.retention)),
  });
  return { writer, meter };
}
