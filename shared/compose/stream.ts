import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { WORKING } from '../platform/call-time';
import { callDirectly } from '../platform/direct-call';
import { countStreamUnits, meterStream } from '../platform/units';
import { boundCalls, requestHandler } from './bounded';

/** Makes the Kinesis client of a function that puts records. */
export function streamClient(): KinesisClient {
  return callDirectly(
    // Use HTTP/1.1. The SDK's default, HTTP/2, gains nothing: an instance has only one request in progress at a time.
    // And emulators close HTTP/2 connections too early.
    boundCalls(
      meterStream(new KinesisClient({ maxAttempts: 3, requestHandler: requestHandler(WORKING) })),
      WORKING,
    ),
    'kinesis',
    { PutRecords: PutRecordsCommand },
    countStreamUnits,
  );
}
