import { KinesisClient } from '@aws-sdk/client-kinesis';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { Context } from 'aws-lambda';
import * as z from 'zod';
import { objectStore } from '../../shared/compose/object-store';
import { metaTable, settings, variable } from '../../shared/platform/environment';
import { InvalidEventError, parseEvent } from '../../shared/platform/event';
import { log } from '../../shared/platform/log';
import { count, withMetrics } from '../../shared/platform/meters';
import { BUCKET_PREFIX, ENV } from '../../shared/platform/names';
import { KinesisReplayStream } from '../../shared/recovery/kinesis';
import { LambdaReplayMappings } from '../../shared/recovery/lambda';
import { RecoveryTable } from '../../shared/recovery/recovery-table';
import { type RedriveResult, recordsOf, redrive, type SetAsideObject } from '../../shared/recovery/redrive';
import { advance, type RecoveryStatus, recoveryStatus, stop } from '../../shared/recovery/replay';
import { replayerIngest, S3SetAside } from '../../shared/recovery/set-aside';

const { batchSize, batchWindow: batchWindowMs } = settings();
const streamArn = variable(ENV.streamArn);
const lambda = new LambdaClient();
const setAside = new S3SetAside(objectStore(), variable(ENV.bucket));
const ingest = replayerIngest(lambda, variable(ENV.replayer));
const dependencies = {
  table: new RecoveryTable(metaTable()),
  stream: new KinesisReplayStream(
    new KinesisClient({ requestHandler: new NodeHttpHandler() }),
    streamArn.slice(streamArn.lastIndexOf('/') + 1),
  ),
  mappings: new LambdaReplayMappings(lambda, {
    functionName: variable(ENV.replayer),
    streamArn,
    batchSize,
    batchWindowMs,
  }),
  now: Date.now,
};

/** Left of an invocation when its last object is begun: the replayer's timeout. */
const MARGIN_MS = 130_000;
/** Of one page of a list. */
const MAX_LISTED = 1_000;

/** Which of what was put away: batches that the mapping gave up, or records that are poison. */
const kind = z.enum(['onFailure', 'quarantine']);

const eventSchema = z.discriminatedUnion('action', [
  z.object({ action: z.literal('advance') }),
  z.object({ action: z.literal('status') }),
  z.object({
    action: z.literal('replay'),
    /** Stream arrival time, ms; 0 for all that the stream has. */
    from: z.number().int().min(0).default(0),
    /** Not included; by default all that has arrived by now. */
    to: z.number().int().optional(),
  }),
  /** `abandon`: give up an open loss too. */
  z.object({ action: z.literal('stop'), abandon: z.boolean().default(false) }),
  z.object({ action: z.literal('redrive'), kind, after: z.string().max(1024).optional() }),
  z.object({ action: z.literal('list'), after: z.string().max(1024).optional() }),
  z.object({ action: z.literal('show'), key: z.string().regex(/^quarantine\/[^/]+\/\d+$/) }),
]);

/** A page of what is in quarantine. */
export interface QuarantineList {
  readonly objects: readonly SetAsideObject[];
  /** The key to go on after; undefined at the end. */
  readonly next: string | undefined;
}

/** A record in quarantine. */
export interface QuarantinedRecord {
  readonly key: string;
  readonly shardId: string;
  readonly sequenceNumber: string;
  readonly arrivalMs: number;
  /** Why it could not be decoded. */
  readonly reason: string;
  /** Its bytes, base64. */
  readonly data: string;
}

type Answer = RecoveryStatus | RedriveResult | QuarantineList | QuarantinedRecord;

/**
 * Outside the VPC, where Lambda's API is: reads the stream again after a loss, drives again what was put away, or does
 * what an operator asks.
 */
export const handler = withMetrics('recovery', answer);

async function answer(event: unknown, context: Context): Promise<Answer> {
  const asked = parseEvent(eventSchema, { action: 'advance', ...(event as object | null) });
  switch (asked.action) {
    case 'stop':
      return stop(dependencies, asked.abandon);
    case 'status':
      return recoveryStatus(dependencies);
    case 'list': {
      const { objects, hasMore } = await setAside.list(BUCKET_PREFIX.quarantine, asked.after, MAX_LISTED);
      return { objects, next: hasMore ? objects.at(-1)?.key : undefined };
    }
    case 'show':
      return show(asked.key);
    case 'redrive': {
      const hasTime = () => context.getRemainingTimeInMillis() > MARGIN_MS;
      const result = await redrive({ setAside, ingest, hasTime }, BUCKET_PREFIX[asked.kind], asked.after);
      if (result.error !== undefined) log.error('what was put away stays', { reason: result.error });
      count('recovery', { RecordsRedriven: result.records, ObjectsNotRedriven: result.failed });
      return result;
    }
    default: {
      const span = asked.action === 'replay' ? { fromMs: asked.from, toMs: asked.to ?? Infinity } : undefined;
      const status = await advance(dependencies, span);
      count('recovery', {
        LossOpen: status.loss?.isOpen ? 1 : 0,
        ReplayRunning: status.replay?.state === 'running' ? 1 : 0,
      });
      return status;
    }
  }
}

async function show(key: string): Promise<QuarantinedRecord> {
  const object = await setAside.read(key);
  if (object === undefined) throw new InvalidEventError(`there is no ${key}`);
  const [record] = recordsOf(key, object.body, object.metadata);
  const { data, ...rest } = record!;
  return { key, ...rest, reason: object.metadata.reason ?? '', data: Buffer.from(data).toString('base64') };
}
