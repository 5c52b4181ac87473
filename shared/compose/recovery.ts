import { LambdaClient } from '@aws-sdk/client-lambda';
import { settings, variable } from '../platform/environment';
import { ENV } from '../platform/names';
import { type GapDependencies, TableGaps } from '../recovery/gaps';
import { KinesisReplayStream } from '../recovery/kinesis';
import { LambdaReplayMappings } from '../recovery/lambda';
import { RecoveryTable } from '../recovery/recovery-table';
import type { RedriveDependencies } from '../recovery/redrive';
import { S3RedriveStore } from '../recovery/redrive-bucket';
import { TableRedriveLedger } from '../recovery/redrive-ledger';
import type { RecoveryDependencies } from '../recovery/replay';
import { replayerIngest } from '../recovery/replayer-call';
import { metaTable, objectStore, streamClient } from './aws-clients';

/** Builds the recovery function's stores and clients from its environment variables. */
export function recoveryDependencies(): RecoveryDependencies &
  Omit<RedriveDependencies & GapDependencies, 'hasTime'> {
  const { batchSize, batchWindow: batchWindowMs, flusherLanes } = settings();
  const streamArn = variable(ENV.streamArn);
  const functionName = variable(ENV.replayer);
  const lambda = new LambdaClient({ maxAttempts: 5 });
  const meta = metaTable();
  const table = new RecoveryTable(meta);
  return {
    table,
    ledger: new TableRedriveLedger(meta, table, flusherLanes),
    gaps: new TableGaps(meta),
    stream: new KinesisReplayStream(streamClient(), streamArn.slice(streamArn.lastIndexOf('/') + 1)),
    mappings: new LambdaReplayMappings(lambda, { functionName, streamArn, batchSize, batchWindowMs }),
    store: new S3RedriveStore(objectStore(), variable(ENV.bucket)),
    ingest: replayerIngest(lambda, functionName),
    now: Date.now,
  };
}
