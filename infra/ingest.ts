import { Duration } from 'aws-cdk-lib';
import { Grant } from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Settings } from '../shared/platform/settings';
import type { Bucket } from './bucket';
import type { SampleStream } from './stream';

export interface IngestProps {
  readonly settings: Settings;
  readonly ingester: lambda.Function;
  readonly replayer: lambda.Function;
  readonly recovery: lambda.Function;
  readonly stream: SampleStream;
  readonly bucket: Bucket;
}

const HOUR_MS = 3_600_000;
/** Lambda's own bound, 7 days. */
const MAX_RECORD_AGE_MS = 604_800_000;

/**
 * How long the mapping tries a record: as set, or an hour less than the stream remembers it, so that what it gives up
 * can still be read and put away whole; at most Lambda's 7 days.
 */
export function recordAgeMs(settings: Settings): number {
  return settings.recordAge || Math.min(settings.streamRetention - HOUR_MS, MAX_RECORD_AGE_MS);
}

/**
 * Feeds the ingester from the stream. A store that is down fails batches, which are tried again without limit
 * of attempts for as long as the stream remembers; what is given up after all goes to the bucket, bytes
 * included.
 */
export class Ingest extends Construct {
  readonly mappingId: string;

  constructor(scope: Construct, id: string, props: IngestProps) {
    super(scope, id);
    const { settings, ingester, replayer, recovery, stream, bucket } = props;
    stream.grantConsume(ingester);
    bucket.grantOnFailure(ingester);
    const mapping = new lambda.EventSourceMapping(this, 'Mapping', {
      target: ingester,
      eventSourceArn: stream.stream.streamArn,
      // LATEST can miss records that arrive while the mapping is made.
      startingPosition: lambda.StartingPosition.TRIM_HORIZON,
      batchSize: settings.batchSize,
      maxBatchingWindow: Duration.millis(settings.batchWindow),
      // One batch at a time a shard: the warm instance that has a partition's layouts in memory gets its next
      // batch too.
      parallelizationFactor: 1,
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      retryAttempts: -1,
      maxRecordAge: Duration.millis(recordAgeMs(settings)),
      // Among them how many records were given up.
      metricsConfig: { metrics: [lambda.MetricType.EVENT_COUNT] },
      supportS3OnFailureDestination: true,
      // Not S3OnFailureDestination, which lets the function read, replace and delete everything in the
      // bucket.
      onFailure: { bind: () => ({ destination: bucket.bucket.bucketArn }) },
    });
    this.mappingId = mapping.eventSourceMappingId;
    // For the temporary mapping of a replay, which recovery makes.
    stream.grantConsume(replayer);
    stream.grantHeartbeat(recovery);
    grantMappings(recovery, replayer);
    Grant.addToPrincipal({
      grantee: recovery,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [replayer.functionArn],
    });
  }
}

/** Lets a function make, see and remove the event source mappings of another; of no other. */
function grantMappings(grantee: lambda.Function, target: lambda.Function): void {
  Grant.addToPrincipal({
    grantee,
    actions: ['lambda:CreateEventSourceMapping', 'lambda:DeleteEventSourceMapping'],
    resourceArns: ['*'],
    conditions: { ArnEquals: { 'lambda:FunctionArn': target.functionArn } },
  });
  Grant.addToPrincipal({ grantee, actions: ['lambda:ListEventSourceMappings'], resourceArns: ['*'] });
}
