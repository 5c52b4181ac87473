import type { Context, KinesisStreamBatchResponse, KinesisStreamEvent } from 'aws-lambda';
import { deliveredRecords, ingest, ingestDependencies } from '../../shared/compose/ingest';
import { withMetrics } from '../../shared/platform/function-metrics';
import type { IngestAgain } from '../../shared/recovery/redrive';
import { ReplayConsumer } from '../../shared/recovery/replay-consumer';
import { type RedriveEvent, redrivenRecords } from '../../shared/recovery/replayer-call';

const dependencies = ingestDependencies(true);
const reader = new ReplayConsumer(dependencies.table, Date.now);

/**
 * Ingests records of the stream again, with the same versions, so that samples still in a store do not change. A
 * temporary event source mapping invokes it for a replay; the recovery function invokes it for a redrive.
 */
export const handler = withMetrics('replayer', replay);

async function replay(
  event: KinesisStreamEvent | RedriveEvent,
  context: Context,
): Promise<KinesisStreamBatchResponse | Awaited<ReturnType<IngestAgain>>> {
  if ('redrive' in event) {
    const { failed, isDown, reason, quarantined } = await ingest(
      'replayer',
      dependencies,
      redrivenRecords(event),
      context,
    );
    return { failed, isDown, ...(reason !== undefined && { reason }), quarantined };
  }
  const delivered = deliveredRecords(event);
  const failed = await reader.read(
    delivered,
    async (records) => (await ingest('replayer', dependencies, records, context)).failed,
  );
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
