import { KinesisClient, PutRecordsCommand } from '@aws-sdk/client-kinesis';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { callDirectly } from '../platform/direct-call';
import { chargeStream, meterStream } from '../platform/units';

/** The Kinesis client of a function that puts records. */
export function streamClient(): KinesisClient {
  return callDirectly(
    // HTTP/1.1: an instance has one request in flight, so HTTP/2, the default, gains nothing, and emulators cut it short.
    meterStream(new KinesisClient({ maxAttempts: 3, requestHandler: new NodeHttpHandler() })),
    'kinesis',
    { PutRecords: PutRecordsCommand },
    chargeStream,
  );
}
