import { Duration, Validations } from 'aws-cdk-lib';
import { Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Grant } from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { ENV, functionName } from '../../shared/platform/names';
import { ownMetric } from '../monitoring/metrics';
import type { AlarmRule, Graph, Monitored } from '../monitoring/monitored';
import { ITEM_ACTIONS } from '../stores/tables';
import { addFunction, addSchedule, type FunctionProps } from './pipeline-function';

const QUARTER = Duration.minutes(15);

export interface RecoveryProps extends FunctionProps {
  /** The function that reads the stream again during a replay. */
  readonly replayer: lambda.Function;
}

/** Replays the stream after a loss of memory, and redrives batches that the mapping stopped retrying. */
export class Recovery extends Construct implements Monitored {
  readonly function: lambda.Function;
  readonly alarms: readonly AlarmRule[];
  readonly graphs: readonly Graph[];

  constructor(scope: Construct, id: string, props: RecoveryProps) {
    super(scope, id);
    const { config, stores, replayer } = props;
    const { stream, tables, bucket } = stores;
    this.function = addFunction(this, {
      config,
      stores,
      name: 'recovery',
      description: 'Replays the stream after a loss, and drives batches again that the mapping gave up',
      memoryMb: 512,
      timeout: Duration.minutes(5),
      invokedBy: 'schedule',
      environment: {
        [ENV.metaTable]: tables.meta.tableName,
        [ENV.bucket]: bucket.bucket.bucketName,
        [ENV.streamArn]: stream.stream.streamArn,
        [ENV.replayer]: functionName(config.stage, 'replayer'),
      },
    });
    tables.meta.grant(this.function, ...ITEM_ACTIONS.read);
    tables.grantMeta(this.function, ['recovery'], ...ITEM_ACTIONS.put, ...ITEM_ACTIONS.delete);
    bucket.grantRedrive(this.function);
    stream.grantHeartbeat(this.function);
    grantMappings(this.function, replayer);
    Grant.addToPrincipal({
      grantee: this.function,
      actions: ['lambda:InvokeFunction'],
      resourceArns: [replayer.functionArn],
    });
    addSchedule(this.function, 'Recover', { every: Duration.minutes(1) });
    addSchedule(this.function, 'Redrive', {
      every: QUARTER,
      event: { action: 'redrive', kind: 'onFailure' },
    });

    const { stage } = config;
    const lossOpen = ownMetric(stage, 'recovery', 'LossOpen', Stats.MAXIMUM);
    this.alarms = [
      {
        name: 'redrive-failures',
        text: 'redrive-failures',
        metric: ownMetric(stage, 'recovery', 'ObjectsNotRedriven', Stats.MAXIMUM, QUARTER),
        above: 0,
        within: [3, 3],
        // A redrive reports its count after the last object. If it ends with an error or a time-out, it reports none.
        isSilenceAlarming: true,
      },
      {
        name: 'loss-open',
        text: 'loss-open',
        metric: lossOpen,
        above: 0,
        within: [15, 15],
        isSilenceAlarming: true,
        isEssential: true,
      },
    ];
    this.graphs = [
      {
        title: 'Losses open, replays running',
        left: [lossOpen, ownMetric(stage, 'recovery', 'ReplayRunning', Stats.MAXIMUM)],
      },
    ];
  }
}

/** Allows listing all event source mappings, and creating and deleting mappings of the function `target` only. */
function grantMappings(grantee: lambda.Function, target: lambda.Function): void {
  Grant.addToPrincipal({
    grantee,
    actions: ['lambda:CreateEventSourceMapping', 'lambda:DeleteEventSourceMapping'],
    resourceArns: ['*'],
    conditions: { ArnEquals: { 'lambda:FunctionArn': target.functionArn } },
  });
  Grant.addToPrincipal({ grantee, actions: ['lambda:ListEventSourceMappings'], resourceArns: ['*'] });
  // Acknowledge the finding here, because this role needs the wildcards even without tracing. `addFunction`
  // acknowledges it for roles that need wildcards only for tracing or for the VPC.
  Validations.of(grantee.role!).acknowledge({
    id: 'AwsSolutions-IAM5[Resource::*]',
    reason:
      'A mapping has no ARN before it is made; the condition names the one function that it may invoke.',
  });
}
