import type { Context, KinesisStreamBatchResponse, KinesisStreamEvent } from 'aws-lambda';
import { deliveredRecords, ingest, ingestDependencies } from '../../shared/compose/ingest';
import { settings } from '../../shared/platform/environment';
import { withMetrics } from '../../shared/platform/function-metrics';
import { log } from '../../shared/platform/log';
import { Watermarks } from '../../shared/recovery/watermarks';

const dependencies = ingestDependencies(false);
const watermarks = new Watermarks(dependencies.table, Date.now, settings().batchWindow);

/**
 * Ingests batches of the stream. Reports the records that failed, and writes the watermark of each shard.
 */
export const handler = withMetrics('ingester', deliver);

async function deliver(event: KinesisStreamEvent, context: Context): Promise<KinesisStreamBatchResponse> {
  const delivered = deliveredRecords(event);
  const { failed } = await ingest('ingester', dependencies, delivered, context);
  const isFailed = new Set(failed);
  const next = delivered.find(({ sequenceNumber }) => isFailed.has(sequenceNumber)) ?? delivered.at(-1);
  try {
    if (next !== undefined) await watermarks.note(next.shardId, next.arrivalMs);
  } catch (error) {
    log.warn("the shard's watermark was not written; the next batch writes it", { error });
  }
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
