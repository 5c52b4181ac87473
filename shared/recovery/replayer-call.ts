import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { DeliveredRecord } from '../stream/record-decoder';
import type { IngestAgain } from './redrive';

/** The event that recovery sends to the replayer function to have it ingest the records of a redrive. */
export interface RedriveEvent {
  readonly redrive: readonly {
    readonly shardId: string;
    readonly sequenceNumber: string;
    readonly arrivalMs: number;
    /** The record's bytes in base64. */
    readonly data: string;
  }[];
}

/**
 * Returns a function that ingests records by calling the replayer function. The recovery function runs
 * outside the VPC and cannot reach the memory tier; the replayer runs inside.
 */
export function replayerIngest(client: LambdaClient, functionName: string): IngestAgain {
  return async (records) => {
    const event: RedriveEvent = {
      redrive: records.map(({ data, shardId, sequenceNumber, arrivalMs }) => ({
        shardId,
        sequenceNumber,
        arrivalMs,
        data: Buffer.from(data).toString('base64'),
      })),
    };
    const { FunctionError, Payload } = await client.send(
      new InvokeCommand({ FunctionName: functionName, Payload: Buffer.from(JSON.stringify(event)) }),
    );
    const text = Buffer.from(Payload ?? []).toString('utf8');
    // A function that was killed or timed out cannot report which records it has appended. So all records count as
    // failed.
    if (FunctionError !== undefined)
      return {
        failed: records.map(({ sequenceNumber }) => sequenceNumber),
        reason: `the replayer failed: ${text}`,
        quarantined: [],
      };
    return JSON.parse(text) as Awaited<ReturnType<IngestAgain>>;
  };
}

/** Decodes the records of a redrive event into the form in which the stream delivered them. */
export function redrivenRecords({ redrive }: RedriveEvent): DeliveredRecord[] {
  return redrive.map((record) => ({ ...record, data: Buffer.from(record.data, 'base64') }));
}
