import type { Context, KinesisStreamEvent } from 'aws-lambda';
import { CatalogueWriter } from '../catalogue/catalogue-writer';
import { Manifest } from '../cold/manifest';
import { CommonLayouts } from '../ingest/common-layouts';
import { type IngestDependencies, type IngestResult, ingestBatch } from '../ingest/ingest';
import { S3Quarantine } from '../ingest/quarantine';
import { INGEST_MARGIN_MS } from '../platform/call-time';
import { settings, variable } from '../platform/environment';
import { count } from '../platform/function-metrics';
import { log } from '../platform/log';
import { ENV } from '../platform/names';
import { LossWatch } from '../recovery/loss-watch';
import { RecoveryTable } from '../recovery/recovery-table';
import type { DeliveredRecord } from '../stream/record-decoder';
import { DeletedTenants } from '../tenancy/deleted-tenants';
import { SeriesCounter } from '../tenancy/series-counter';
import { Tenants } from '../tenancy/tenants';
import { UsageTable } from '../tenancy/usage-table';
import { metaTable, objectStore } from './aws-clients';
import { hotTier } from './hot-tier';

/** Builds the stores and clients of the ingester or the replayer from its environment variables. */
export function ingestDependencies(
  isReplay: boolean,
): IngestDependencies & { readonly table: RecoveryTable } {
  const { window: windowMs, retention, flusherLanes } = settings();
  const meta = metaTable();
  const table = new RecoveryTable(meta);
  const tenants = new Tenants(meta);
  const catalogue = new CatalogueWriter(meta, retention);
  const hot = hotTier();
  return {
    hot,
    catalogue,
    newSeries: new SeriesCounter(catalogue, new UsageTable(meta)),
    manifest: new Manifest(meta),
    quarantine: new S3Quarantine(objectStore(), variable(ENV.bucket)),
    losses: new LossWatch({ hot, table, lanes: flusherLanes, now: Date.now }),
    deletedTenants: new DeletedTenants(tenants),
    commonLayouts: new CommonLayouts(),
    windowMs,
    isReplay,
    table,
  };
}

/** Converts a batch from an event source mapping. All records of a batch come from one shard. */
export function deliveredRecords(event: KinesisStreamEvent): DeliveredRecord[] {
  return event.Records.map(({ kinesis, eventID }) => ({
    sequenceNumber: kinesis.sequenceNumber,
    arrivalMs: Math.round(kinesis.approximateArrivalTimestamp * 1000),
    shardId: eventID.split(':')[0]!,
    data: Buffer.from(kinesis.data, 'base64'),
  }));
}

/** Ingests a batch, logs failures and counts metrics. */
export async function ingest(
  name: 'ingester' | 'replayer',
  dependencies: IngestDependencies,
  delivered: readonly DeliveredRecord[],
  context: Pick<Context, 'getRemainingTimeInMillis'>,
): Promise<IngestResult> {
  const hasTime = () => context.getRemainingTimeInMillis() > INGEST_MARGIN_MS;
  const result = await ingestBatch(dependencies, delivered, hasTime);
  for (const error of result.errors) log.error('the stream delivers records again', { error });
  count(name, {
    RecordsDelivered: delivered.length,
    RecordsFailed: result.failed.length,
    RecordsQuarantined: result.quarantined.length,
    SamplesAppended: result.samples,
  });
  return result;
}
