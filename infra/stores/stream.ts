import { Duration } from 'aws-cdk-lib';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import { Stream, StreamEncryption, StreamMode } from 'aws-cdk-lib/aws-kinesis';
import { Construct } from 'constructs';
import type { Settings } from '../../shared/platform/settings';
import { pinLogicalId } from '../logical-id';
import { awsMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';

export interface SampleStreamProps {
  readonly settings: Settings;
}

/**
 * The stream that makes posted samples durable. Its records can be read again during `streamRetention`.
 *
 * It is encrypted with the key that AWS manages for Kinesis. A key of our own would add $1 a month and $0.03
 * per 10,000 calls of every producer and consumer.
 */
export class SampleStream extends Construct implements Monitored {
  readonly stream: Stream;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: SampleStreamProps) {
    super(scope, id);
    this.stream = new Stream(this, 'Stream', {
      ...(props.settings.streamMode === 'on-demand'
        ? { streamMode: StreamMode.ON_DEMAND }
        : { streamMode: StreamMode.PROVISIONED, shardCount: props.settings.streamShards }),
      retentionPeriod: Duration.millis(props.settings.streamRetention),
      encryption: StreamEncryption.MANAGED,
    });
    pinLogicalId(this.stream, 'Stream');

    const refused = awsMetric.stream('WriteProvisionedThroughputExceeded', this.stream.streamName);
    this.alarms = [
      {
        name: 'stream-throttled',
        text: 'stream-throttled',
        metric: refused,
        above: 0,
        within: [3, 5],
      },
    ];
    this.graphs = [
      {
        title: 'Stream: bytes in, records refused',
        left: [awsMetric.stream('IncomingBytes', this.stream.streamName)],
        right: [refused],
      },
    ];
  }

  /** Lets a function put records, and nothing else. */
  grantPut(grantee: IGrantable): Grant {
    return this.stream.grant(grantee, 'kinesis:PutRecords');
  }

  /** Lets a function put a heartbeat into every shard. */
  grantHeartbeat(grantee: IGrantable): Grant {
    return this.stream.grant(grantee, 'kinesis:ListShards', 'kinesis:PutRecords');
  }

  /** Lets a function's event source mapping read records. */
  grantConsume(grantee: IGrantable): Grant {
    return this.stream.grant(
      grantee,
      'kinesis:DescribeStream',
      'kinesis:DescribeStreamSummary',
      'kinesis:GetRecords',
      'kinesis:GetShardIterator',
      'kinesis:ListShards',
    );
  }
}
