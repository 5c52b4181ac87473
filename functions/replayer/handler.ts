import type { Context, KinesisStreamBatchResponse, KinesisStreamEvent } from 'aws-lambda';
import { deliveredRecords, ingest, ingestDependencies } from '../../shared/ingest/delivery';
import { ReplayReader } from '../../shared/recovery/replay-reader';

const dependencies = ingestDependencies(true);
const reader = new ReplayReader(dependencies.table, Date.now);

/**
 * Reads the stream a second time for a replay, with the ingester's code: what was appended before is appended again with
 * the same versions, which changes nothing. Invoked by a temporary event source mapping, which the recovery function makes
 * and removes, and by itself for records that are driven again.
 */
export async function handler(
  event: KinesisStreamEvent,
  context: Context,
): Promise<KinesisStreamBatchResponse> {
  const delivered = deliveredRecords(event);
  const failed = await reader.read(
    delivered,
    async (records) => (await ingest('replayer', dependencies, records, context)).failed,
  );
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
