import type { Context, KinesisStreamEvent } from 'aws-lambda';
import { formatToWrite, metaTable, settings, variable } from '../environment';
import { FORMATS } from '../formats';
import { INGEST_MARGIN_MS } from '../hot/call-time';
import { connectHot } from '../hot/connection';
import { HotTier } from '../hot/hot-tier';
import { SeriesCounter } from '../limits/series-counter';
import { log } from '../log';
import { Catalogue } from '../meta/catalogue';
import { DeletedTenants } from '../meta/deleted-tenants';
import { Manifest } from '../meta/manifest';
import { Tenants } from '../meta/tenants';
import { count } from '../meters';
import { ENV } from '../names';
import { objectStore } from '../object-store';
import { LossWatch } from '../recovery/loss-watch';
import { RecoveryTable } from '../recovery/recovery-table';
import { UsageTable } from '../usage/usage-table';
import { type DeliveredRecord, type IngestDependencies, type IngestResult, ingestBatch } from './ingest';
import { S3Quarantine } from './quarantine';

/** What the ingester and the replayer work with, from their environment. */
export function ingestDependencies(
  isReplay: boolean,
): IngestDependencies & { readonly table: RecoveryTable } {
  const { window: windowMs, retention, streamRetention, flusherLanes, frameFormat } = settings();
  const meta = metaTable();
  const table = new RecoveryTable(meta);
  const tenants = new Tenants(meta);
  const catalogue = new Catalogue(meta, retention);
  // The safety net of a key: as long as the stream remembers, so that whatever vanishes can be replayed.
  const hot = new HotTier(connectHot(variable(ENV.redis)), streamRetention);
  return {
    hot,
    catalogue,
    newSeries: new SeriesCounter(catalogue, new UsageTable(meta)),
    manifest: new Manifest(meta),
    quarantine: new S3Quarantine(objectStore(), variable(ENV.bucket)),
    losses: new LossWatch({ hot, table, tenants, lanes: flusherLanes, now: Date.now }),
    deletedTenants: new DeletedTenants(tenants),
    windowMs,
    frameFormat: formatToWrite(FORMATS.frame.writes, frameFormat),
    isReplay,
    table,
  };
}

/** A batch of an event source mapping; all records are of one shard. */
export function deliveredRecords(event: KinesisStreamEvent): DeliveredRecord[] {
  return event.Records.map(({ kinesis, eventID }) => ({
    sequenceNumber: kinesis.sequenceNumber,
    arrivalMs: Math.round(kinesis.approximateArrivalTimestamp * 1000),
    shardId: eventID.split(':')[0]!,
    data: Buffer.from(kinesis.data, 'base64'),
  }));
}

/** Appends a batch, logs what failed and counts. */
export async function ingest(
  name: 'ingester' | 'replayer',
  dependencies: IngestDependencies,
  delivered: readonly DeliveredRecord[],
  context: Pick<Context, 'getRemainingTimeInMillis'>,
): Promise<IngestResult> {
  const hasTime = () => context.getRemainingTimeInMillis() > INGEST_MARGIN_MS;
  const result = await ingestBatch(dependencies, delivered, hasTime);
  for (const error of result.errors) log.error('records will be delivered again', { error });
  count(name, {
    RecordsDelivered: delivered.length,
    RecordsFailed: result.failed.length,
    RecordsQuarantined: result.quarantined.length,
    SamplesAppended: result.samples,
  });
  return result;
}
