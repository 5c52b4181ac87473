import { KinesisClient } from '@aws-sdk/client-kinesis';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import * as z from 'zod';
import { metaTable, settings, variable } from '../../shared/environment';
import { parseEvent } from '../../shared/event';
import { count } from '../../shared/meters';
import { ENV } from '../../shared/names';
import { KinesisReplayStream } from '../../shared/recovery/kinesis';
import { LambdaReplayMappings } from '../../shared/recovery/lambda';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { advance, type RecoveryStatus, recoveryStatus, stop } from '../../shared/recovery/replay';

const { batchSize, batchWindow: batchWindowMs } = settings();
const streamArn = variable(ENV.streamArn);
const dependencies = {
  table: new RecoveryTable(metaTable()),
  stream: new KinesisReplayStream(
    new KinesisClient({ requestHandler: new NodeHttpHandler() }),
    streamArn.slice(streamArn.lastIndexOf('/') + 1),
  ),
  mappings: new LambdaReplayMappings(new LambdaClient(), {
    functionName: variable(ENV.replayer),
    streamArn,
    batchSize,
    batchWindowMs,
  }),
  now: Date.now,
};

const eventSchema = z.object({
  action: z.enum(['advance', 'replay', 'stop', 'status']).default('advance'),
  /** Of the replay that is asked for: stream arrival time, ms; 0 for all that the stream has. */
  from: z.number().int().min(0).default(0),
  /** Not included; by default all that has arrived by now. */
  to: z.number().int().optional(),
  /** With `stop`: give up an open loss too. */
  abandon: z.boolean().default(false),
});

/** Outside the VPC, where Lambda's API is: reads the stream again after a loss, or when an operator asks. */
export async function handler(event: unknown): Promise<RecoveryStatus> {
  const { action, from: fromMs, to: toMs = Infinity, abandon } = parseEvent(eventSchema, event ?? {});
  if (action === 'stop') return stop(dependencies, abandon);
  if (action === 'status') return recoveryStatus(dependencies);
  const status = await advance(dependencies, action === 'replay' ? { fromMs, toMs } : undefined);
  count('recovery', {
    LossOpen: status.loss?.isOpen ? 1 : 0,
    ReplayRunning: status.replay?.state === 'running' ? 1 : 0,
  });
  return status;
}
