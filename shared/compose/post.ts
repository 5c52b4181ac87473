import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { Catalogue } from '../catalogue/catalogue';
import { FORMATS } from '../model/formats';
import { callDirectly } from '../platform/direct-call';
import { formatToWrite, metaTable, settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { chargeStream, meterStream } from '../platform/units';
import { Hosts } from '../registry/hosts';
import { MetricMetadataStore } from '../registry/metric-metadata';
import { Services } from '../registry/services';
import { ApiKeys } from '../tenancy/api-keys';
import { KnownSeries } from '../tenancy/known-series';
import { TenantMeter } from '../tenancy/tenant-meter';
import { Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';

/** The adapters of post, from its environment. */
export function postDependencies() {
  const stage = settings();
  const table = metaTable();
  return {
    keys: new ApiKeys(table),
    tenants: new Tenants(table),
    meter: new TenantMeter(new UsageTable(table), stage),
    hosts: new Hosts(table),
    services: new Services(table),
    metadata: new MetricMetadataStore(table),
    knownSeries: new KnownSeries(new Catalogue(table, stage.retention)),
    // HTTP/1.1: an instance has one request in flight, so HTTP/2, the default, gains nothing, and emulators cut it short.
    kinesis: callDirectly(
      meterStream(new KinesisClient({ maxAttempts: 3, requestHandler: new NodeHttpHandler() })),
      'kinesis',
      { PutRecords: PutRecordsCommand },
      chargeStream,
    ),
    stream: variable(ENV.stream),
    recordFormat: formatToWrite(FORMATS.record.writes, stage.recordFormat),
    maxSampleAgeMs: stage.maxSampleAge,
    resolutionMs: stage.resolution,
  };
}

export type PostDependencies = ReturnType<typeof postDependencies>;
