import { Duration } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV, functionName } from '../../shared/platform/names';
import { firstScope } from '../logical-id';
import { awsMetric, ownMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';
import { recordAgeMs } from '../record-age';
import { CATALOGUE_KINDS, ITEM_ACTIONS } from '../stores/tables';
import { addFunction, type FunctionProps } from './pipeline-function';

/** Consumer lag above which the alarm fires, in ms. */
const MAX_CONSUMER_LAG_MS = 300_000;

/**
 * Moves records from the stream into memory. Includes the event source mapping that invokes the function.
 *
 * If a store is down, batches fail. The mapping retries a batch without limit until shortly before the batch expires
 * from the stream. The mapping then writes the whole batch to the bucket as a dead letter.
 */
export class Ingester extends Construct implements Monitored {
  readonly function: lambda.Function;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: FunctionProps) {
    super(scope, id);
    const { stage, settings } = props.config;
    const { stream, bucket } = props.stores;
    this.function = addIngestFunction(this, props, 'ingester', 'Stream to hot tier');
    stream.grantConsume(this.function);
    bucket.grantOnFailure(this.function);

    const mapping = new lambda.EventSourceMapping(firstScope(this, 'Ingest'), 'Mapping', {
      target: this.function,
      eventSourceArn: stream.stream.streamArn,
      // LATEST can miss records that arrive while the mapping is created.
      startingPosition: lambda.StartingPosition.TRIM_HORIZON,
      batchSize: settings.batchSize,
      maxBatchingWindow: Duration.millis(settings.batchWindow),
      // One batch at a time per shard, so that the next batch is handled by a warm instance, which has the partition's
      // layouts in memory.
      parallelizationFactor: 1,
      bisectBatchOnError: true,
      reportBatchItemFailures: true,
      retryAttempts: -1,
      maxRecordAge: Duration.millis(recordAgeMs(settings)),
      // Publishes the number of records that the mapping discarded after its last retry.
      metricsConfig: { metrics: [lambda.MetricType.EVENT_COUNT] },
      supportS3OnFailureDestination: true,
      // Not S3OnFailureDestination, which would let the function read, replace and delete everything in the
      // bucket.
      onFailure: { bind: () => ({ destination: bucket.bucket.bucketArn }) },
    });

    const lag = awsMetric.lambda('IteratorAge', functionName(stage, 'ingester'), Stats.MAXIMUM);
    const failed = ownMetric(stage, 'ingester', 'RecordsFailed', Stats.SUM);
    const quarantined = ownMetric(stage, 'ingester', 'RecordsQuarantined', Stats.SUM);
    this.alarms = [
      {
        name: 'stream-lag',
        text: 'stream-lag',
        metric: lag,
        above: MAX_CONSUMER_LAG_MS,
        within: [5, 5],
      },
      {
        name: 'records-failed',
        text: 'records-failed',
        metric: failed,
        above: 0,
        within: [5, 10],
      },
      {
        name: 'gave-up',
        text: 'gave-up',
        metric: awsMetric.mapping('OnFailureDestinationDeliveredEventCount', mapping.eventSourceMappingId),
        above: 0,
        isEssential: true,
      },
      {
        name: 'quarantine',
        text: 'quarantine',
        metric: quarantined,
        above: 0,
        isEssential: true,
      },
    ];
    this.graphs = [
      { title: 'Ingester: behind the stream, ms', left: [lag] },
      { title: 'Records failed, in quarantine', left: [failed, quarantined] },
    ];
  }
}

/** Creates a function with the ingester's code and its grants for appending batches to memory. */
export function addIngestFunction(
  scope: Construct,
  props: FunctionProps,
  name: 'ingester' | 'replayer',
  description: string,
): lambda.Function {
  const { hotTier, tables, bucket } = props.stores;
  const fn = addFunction(scope, {
    ...props,
    name,
    description,
    memoryMb: 1769,
    // A batch takes seconds. A batch that hangs blocks its shard for at most this long.
    timeout: Duration.millis(props.config.settings.ingesterTimeout),
    invokedBy: 'mapping',
    isInVpc: true,
    environment: {
      [ENV.metaTable]: tables.meta.tableName,
      [ENV.bucket]: bucket.bucket.bucketName,
      [ENV.redis]: hotTier.url,
    },
  });
  hotTier.grantConnect(fn);
  const { read, readMany, write, insert, put } = ITEM_ACTIONS;
  tables.meta.grant(fn, ...read, ...readMany);
  tables.grantMeta(fn, CATALOGUE_KINDS, ...write, ...insert);
  tables.grantMeta(fn, ['manifest', 'usage'], ...write);
  tables.grantMeta(fn, ['recovery'], ...put);
  bucket.grantQuarantine(fn);
  return fn;
}
