import type { Context, KinesisStreamBatchResponse, KinesisStreamEvent } from 'aws-lambda';
import { deliveredRecords, ingest, ingestDependencies } from '../../shared/compose/ingest';
import { withMetrics } from '../../shared/platform/meters';
import type { IngestAgain } from '../../shared/recovery/redrive';
import { ReplayReader } from '../../shared/recovery/replay-reader';
import { type RedriveEvent, redrivenRecords } from '../../shared/recovery/set-aside';

const dependencies = ingestDependencies(true);
const reader = new ReplayReader(dependencies.table, Date.now);

/**
 * Reads the stream a second time for a replay, with the ingester's code: what was appended before is appended again with
 * the same versions, which changes nothing. Invoked by a temporary event source mapping, which the recovery function makes
 * and removes, and by the recovery function itself for records that were put away and are driven again.
 */
export const handler = withMetrics('replayer', replay);

async function replay(
  event: KinesisStreamEvent | RedriveEvent,
  context: Context,
): Promise<KinesisStreamBatchResponse | Awaited<ReturnType<IngestAgain>>> {
  if ('redrive' in event) {
    const { failed, quarantined } = await ingest('replayer', dependencies, redrivenRecords(event), context);
    return { failed, quarantined };
  }
  const delivered = deliveredRecords(event);
  const failed = await reader.read(
    delivered,
    async (records) => (await ingest('replayer', dependencies, records, context)).failed,
  );
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
