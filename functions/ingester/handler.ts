import type { KinesisStreamBatchResponse, KinesisStreamEvent } from 'aws-lambda';
import { metaTable, settings, variable } from '../../shared/environment';
import { connectHot } from '../../shared/hot/connection';
import { HotTier } from '../../shared/hot/hot-tier';
import { ingestBatch } from '../../shared/ingest/ingest';
import { S3Quarantine } from '../../shared/ingest/quarantine';
import { log } from '../../shared/log';
import { Catalogue } from '../../shared/meta/catalogue';
import { count } from '../../shared/meters';
import { ENV } from '../../shared/names';
import { objectStore } from '../../shared/object-store';

const { window: windowMs, retention, streamRetention } = settings();
const table = metaTable();
const dependencies = {
  // The safety net of a key: as long as the stream remembers, so that whatever vanishes can be replayed.
  hot: new HotTier(connectHot(variable(ENV.redis)), streamRetention),
  catalogue: new Catalogue(table, retention),
  quarantine: new S3Quarantine(objectStore(), variable(ENV.bucket)),
  windowMs,
};

export async function handler(event: KinesisStreamEvent): Promise<KinesisStreamBatchResponse> {
  const delivered = event.Records.map(({ kinesis, eventID }) => ({
    sequenceNumber: kinesis.sequenceNumber,
    arrivalMs: Math.round(kinesis.approximateArrivalTimestamp * 1000),
    shardId: eventID.split(':')[0]!,
    data: Buffer.from(kinesis.data, 'base64'),
  }));
  const { failed, errors, samples, quarantined } = await ingestBatch(dependencies, delivered);
  for (const error of errors) log.error('records will be delivered again', { error });
  count('ingester', {
    RecordsDelivered: delivered.length,
    RecordsFailed: failed.length,
    RecordsQuarantined: quarantined,
    SamplesAppended: samples,
  });
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
