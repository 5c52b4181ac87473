import { Duration, Validations } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { ENV, type FunctionName, functionName } from '../../shared/platform/names';
import { runtimeSettings } from '../../shared/platform/settings';
import { bundle } from '../bundle';
import type { Config } from '../config';
import { retentionDays } from '../log-retention';
import { firstScope } from '../logical-id';
import type { Stores } from '../stateful-stack';
import { sendsTraces } from '../tracing';

/** Props of each function's construct. */
export interface FunctionProps {
  readonly config: Config;
  readonly stores: Stores;
}

export interface PipelineFunctionProps extends FunctionProps {
  /**
   * Name of the folder below functions/ that holds the handler. The function's physical name ends with it.
   */
  readonly name: FunctionName;
  readonly description: string;
  /** Memory in MB. Lambda gives one full CPU at 1769 MB. */
  readonly memoryMb: number;
  readonly timeout: Duration;
  /** Invoker of the function. It determines how failed invocations are handled. */
  readonly invokedBy: 'api' | 'mapping' | 'schedule' | 'operator' | 'evaluator';
  /**
   * Environment variables in addition to the settings.
   * @default none
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Whether the function runs inside the VPC, where it reaches only the hot tier, DynamoDB and S3.
   * @default false
   */
  readonly isInVpc?: boolean;
  /**
   * Reserved concurrency, which is also the function's maximum; 0 for neither a reservation nor a maximum.
   * @default 0
   */
  readonly reservedConcurrency?: number;
}

/** API Gateway times out after 30 s. A function that times out earlier can still answer with an error. */
export const API_TIMEOUT = Duration.seconds(29);
/** Lambda's maximum. */
export const LONGEST_TIMEOUT = Duration.minutes(15);

/** Reasons why a function has no dead-letter queue, by invoker. cdk-nag findings are acknowledged with these texts. */
const NO_DEAD_LETTER: Record<PipelineFunctionProps['invokedBy'], string> = {
  api: 'API Gateway invokes it synchronously and the client sees the failure: there is no event to keep.',
  mapping:
    'An event source mapping invokes it synchronously; the mapping has its own on-failure destination.',
  schedule:
    'The event says only that it is time: the next one does the same work, which stays in the stores until done.',
  evaluator: 'The evaluator invokes it synchronously, sees the failure, and asks again in the next minute.',
  operator: 'An operator command invokes it synchronously, sees the failure and repeats the slice.',
};

/** Creates a function with its log group, and a role that may write that log and nothing else. */
export function addFunction(scope: Construct, props: PipelineFunctionProps): lambda.Function {
  const { config, stores, name, isInVpc = false } = props;
  const isTraced = sendsTraces(name, config.settings.tracing);
  const logGroup = new LogGroup(scope, 'Log', { retention: retentionDays(config.settings) });
  const fn = new lambda.Function(scope, 'Function', {
    functionName: functionName(config.stage, name),
    description: props.description,
    runtime: lambda.Runtime.NODEJS_24_X,
    architecture: lambda.Architecture.ARM_64,
    handler: 'index.handler',
    code: bundle(name),
    timeout: props.timeout,
    reservedConcurrentExecutions: props.reservedConcurrency || undefined,
    memorySize: props.memoryMb,
    environment: {
      [ENV.settings]: JSON.stringify(runtimeSettings(config.settings)),
      ...props.environment,
    },
    role: addRole(scope, logGroup, { isInVpc, isTraced }),
    tracing: isTraced ? lambda.Tracing.ACTIVE : lambda.Tracing.DISABLED,
    logGroup,
    loggingFormat: lambda.LoggingFormat.JSON,
    applicationLogLevelV2: lambda.ApplicationLogLevel.INFO,
    // Lambda's log lines for the start and report of each invocation would cost about as much as the
    // invocation.
    systemLogLevelV2: lambda.SystemLogLevel.WARN,
    ...(isInVpc && {
      vpc: stores.network.vpc,
      vpcSubnets: { subnets: stores.network.vpc.isolatedSubnets },
      securityGroups: [stores.network.functionGroup],
    }),
  });
  const reason = NO_DEAD_LETTER[props.invokedBy];
  Validations.of(fn).acknowledge({ id: 'Serverless-LambdaDLQ', reason });
  if (!isTraced) {
    Validations.of(fn).acknowledge({
      id: 'Serverless-LambdaTracing',
      reason: `The setting tracing=${config.settings.tracing} excludes it: traces of post and ingester would be a ninth of the bill, and nobody looks at a stage without any.`,
    });
  }
  if (props.invokedBy === 'schedule') {
    // Do not retry: the next tick does the same work. Otherwise, ticks queued while the account is at its concurrency
    // limit would later all run at once.
    fn.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
    Validations.of(fn).acknowledge({ id: 'Serverless-LambdaAsyncFailureDestination', reason });
  }
  return fn;
}

export interface ScheduleProps {
  readonly every: Duration;
  /**
   * Event passed to the function.
   * @default an empty object
   */
  readonly event?: object;
  /** @default true */
  readonly isEnabled?: boolean;
}

/**
 * Invokes a function on a schedule. A tick that cannot be delivered within a minute is dropped, because the next
 * tick does the same work.
 */
export function addSchedule(fn: lambda.Function, id: string, props: ScheduleProps): void {
  const rule = new Rule(firstScope(fn, 'Schedules'), id, {
    schedule: Schedule.rate(props.every),
    enabled: props.isEnabled ?? true,
  });
  rule.addTarget(
    new LambdaTarget(fn, {
      event: RuleTargetInput.fromObject(props.event ?? {}),
      retryAttempts: 0,
      maxEventAge: Duration.minutes(1),
    }),
  );
  Validations.of(rule).acknowledge({
    id: 'Serverless-EventBusDLQ',
    reason: 'A lost tick needs no queue: it carries nothing but the time, and the next tick does its work.',
  });
}

function addRole(
  scope: Construct,
  logGroup: LogGroup,
  { isInVpc, isTraced }: { isInVpc: boolean; isTraced: boolean },
): iam.Role {
  const statements = [
    new iam.PolicyStatement({
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [logGroup.logGroupArn],
    }),
  ];
  if (isInVpc) {
    statements.push(
      new iam.PolicyStatement({
        actions: [
          'ec2:AssignPrivateIpAddresses',
          'ec2:CreateNetworkInterface',
          'ec2:DeleteNetworkInterface',
          'ec2:DescribeNetworkInterfaces',
          'ec2:DescribeSubnets',
          'ec2:UnassignPrivateIpAddresses',
        ],
        resources: ['*'],
      }),
    );
  }
  const role = new iam.Role(scope, 'Role', {
    assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
    inlinePolicies: { Run: new iam.PolicyDocument({ statements }) },
  });
  const reasons = [
    isTraced && 'X-Ray has no resources to name: PutTraceSegments and PutTelemetryRecords take only *.',
    isInVpc &&
      'Lambda needs its network interface calls on all resources, as in AWSLambdaVPCAccessExecutionRole.',
  ].filter((reason) => reason !== false);
  if (reasons.length > 0) {
    Validations.of(role).acknowledge({ id: 'AwsSolutions-IAM5[Resource::*]', reason: reasons.join(' ') });
  }
  if (isInVpc) {
    Validations.of(role).acknowledge({
      id: 'Serverless-LambdaStarPermissions',
      reason:
        'Only the network interface calls with which Lambda attaches the function to the VPC name all resources; no action is a wildcard.',
    });
  }
  return role;
}
