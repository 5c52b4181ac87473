import { Duration, Validations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { ENV, FUNCTIONS, type FunctionName, functionName } from '../shared/platform/names';
import { runtimeSettings, type Settings } from '../shared/platform/settings';
import { bundle } from './bundle';
import type { Config } from './config';
import { retentionDays } from './log-retention';
import type { StatefulStack } from './stateful-stack';
import { ITEM_ACTIONS } from './tables';

export interface FunctionsProps {
  readonly config: Config;
  readonly stores: Pick<StatefulStack, 'network' | 'hotTier' | 'stream' | 'tables' | 'bucket'>;
}

/** Those that the stores give: the API comes after the functions, and says by itself where it is. */
type Variable = Exclude<keyof typeof ENV, 'settings' | 'apiUrl'>;

interface FunctionShape {
  /**
   * @default the setting `ingesterTimeout`: a batch takes seconds, and a hung one holds its shard no longer than this
   */
  readonly timeout?: Duration;
  /** MB; a whole CPU comes with 1769. */
  readonly memory: number;
  /** Variables beside SETTINGS. A function that has `redis` is inside the VPC, the others are outside. */
  readonly variables: readonly Variable[];
  readonly invokedBy: 'api' | 'mapping' | 'schedule' | 'operator';
  readonly description: string;
}

/** API Gateway gives up after 30 s; a function that gives up first can still say so. */
const API_TIMEOUT = Duration.seconds(29);
const LONGEST = Duration.minutes(15);

const FUNCTION_SHAPES: Record<FunctionName, FunctionShape> = {
  post: {
    description: 'Acknowledges samples: validates them and puts them into the stream',
    timeout: API_TIMEOUT,
    memory: 1024,
    variables: ['stream', 'metaTable'],
    invokedBy: 'api',
  },
  ingester: {
    description: 'Stream to hot tier',
    memory: 1769,
    variables: ['metaTable', 'bucket', 'redis'],
    invokedBy: 'mapping',
  },
  flusher: {
    description: 'Hot tier to warm tier',
    timeout: LONGEST,
    memory: 1769,
    variables: ['warmTable', 'metaTable', 'redis'],
    invokedBy: 'schedule',
  },
  archiver: {
    description: 'Warm tier to archive',
    timeout: LONGEST,
    memory: 3008,
    variables: ['warmTable', 'metaTable', 'bucket'],
    invokedBy: 'schedule',
  },
  query: {
    description: 'Reads the three tiers as one',
    timeout: API_TIMEOUT,
    memory: 1769,
    variables: ['warmTable', 'metaTable', 'bucket', 'redis'],
    invokedBy: 'api',
  },
  registry: {
    description: 'Hosts, services and what is said of them, and every request no route matches',
    timeout: API_TIMEOUT,
    memory: 512,
    variables: ['stream', 'metaTable'],
    invokedBy: 'api',
  },
  page: {
    description: 'The page to look at: static files, without access to anything',
    timeout: Duration.seconds(5),
    memory: 512,
    variables: [],
    invokedBy: 'api',
  },
  operator: {
    description: 'Answers operator commands, sweeps what deleted tenants left, counts series',
    timeout: LONGEST,
    memory: 1769,
    variables: ['warmTable', 'metaTable', 'bucket', 'redis'],
    invokedBy: 'schedule',
  },
  deleter: {
    description: 'Puts deletions into the stream',
    timeout: Duration.minutes(2),
    memory: 512,
    variables: ['stream', 'metaTable'],
    invokedBy: 'operator',
  },
  replayer: {
    description: 'Stream to hot tier once more, for a replay',
    memory: 1769,
    variables: ['metaTable', 'bucket', 'redis'],
    invokedBy: 'mapping',
  },
  recovery: {
    description: 'Reads the stream again after a loss, and drives again what was put away',
    timeout: Duration.minutes(5),
    memory: 512,
    variables: ['metaTable', 'bucket', 'streamArn', 'replayer'],
    invokedBy: 'schedule',
  },
  canary: {
    description: 'Posts and reads through all three tiers, as a client would',
    timeout: Duration.minutes(1),
    memory: 256,
    variables: ['metaTable'],
    invokedBy: 'schedule',
  },
};

/** Why nothing is set aside when an invocation fails, by who invokes. */
const NO_DEAD_LETTER: Record<FunctionShape['invokedBy'], string> = {
  api: 'API Gateway invokes it synchronously and the client sees the failure: there is no event to set aside.',
  mapping:
    'An event source mapping invokes it synchronously; the mapping has its own on-failure destination.',
  schedule:
    'The event says only that it is time: the next one does the same work, which stays in the stores until done.',
  operator: 'An operator command invokes it synchronously, sees the failure and repeats the slice.',
};

/** All functions, each with a role of its own that may do what its work needs and nothing more. */
export class Functions extends Construct {
  readonly byName: Readonly<Record<FunctionName, lambda.Function>>;

  constructor(scope: Construct, id: string, props: FunctionsProps) {
    super(scope, id);
    this.byName = Object.fromEntries(
      FUNCTIONS.map((name) => [name, this.addFunction(name, props)]),
    ) as Record<FunctionName, lambda.Function>;
    this.grantAccess(props.stores);
  }

  private addFunction(name: FunctionName, props: FunctionsProps): lambda.Function {
    const { config, stores } = props;
    const shape = FUNCTION_SHAPES[name];
    const inVpc = shape.variables.includes('redis');
    const values: Record<Variable, string> = {
      stream: stores.stream.stream.streamName,
      warmTable: stores.tables.warm.tableName,
      metaTable: stores.tables.meta.tableName,
      bucket: stores.bucket.bucket.bucketName,
      redis: stores.hotTier.url,
      streamArn: stores.stream.stream.streamArn,
      replayer: functionName(config.stage, 'replayer'),
    };
    const capability = new Construct(this, capitalize(name));
    const logGroup = new LogGroup(capability, 'Log', { retention: retentionDays(config.settings) });
    const fn = new lambda.Function(capability, 'Function', {
      functionName: functionName(config.stage, name),
      description: shape.description,
      runtime: lambda.Runtime.NODEJS_24_X,
      architecture: lambda.Architecture.ARM_64,
      handler: 'index.handler',
      code: bundle(name),
      timeout: shape.timeout ?? Duration.millis(config.settings.ingesterTimeout),
      reservedConcurrentExecutions: reservedConcurrency(name, config.settings),
      memorySize: shape.memory,
      environment: {
        [ENV.settings]: JSON.stringify(runtimeSettings(config.settings)),
        ...Object.fromEntries(shape.variables.map((variable) => [ENV[variable], values[variable]])),
      },
      role: this.addRole(capability, logGroup, inVpc),
      tracing: lambda.Tracing.ACTIVE,
      logGroup,
      loggingFormat: lambda.LoggingFormat.JSON,
      applicationLogLevelV2: lambda.ApplicationLogLevel.INFO,
      // A start and a report line for each invocation would cost about as much as the invocation.
      systemLogLevelV2: lambda.SystemLogLevel.WARN,
      ...(inVpc && {
        vpc: stores.network.vpc,
        vpcSubnets: { subnets: stores.network.vpc.isolatedSubnets },
        securityGroups: [stores.network.functionGroup],
      }),
    });
    const reason = NO_DEAD_LETTER[shape.invokedBy];
    Validations.of(fn).acknowledge({ id: 'Serverless-LambdaDLQ', reason });
    if (shape.invokedBy === 'schedule') {
      // The next tick is the retry; a queue of old ticks would only run at once when the account has room
      // again.
      fn.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
      Validations.of(fn).acknowledge({ id: 'Serverless-LambdaAsyncFailureDestination', reason });
    }
    return fn;
  }

  private addRole(scope: Construct, logGroup: LogGroup, inVpc: boolean): iam.Role {
    const statements = [
      new iam.PolicyStatement({
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    ];
    if (inVpc) {
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
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason: inVpc
        ? 'X-Ray has no resources to name, and Lambda needs its network interface calls on all, as in AWSLambdaVPCAccessExecutionRole.'
        : 'X-Ray has no resources to name: PutTraceSegments and PutTelemetryRecords take only *.',
    });
    if (inVpc) {
      Validations.of(role).acknowledge({
        id: 'Serverless-LambdaStarPermissions',
        reason:
          'Only the network interface calls that Lambda makes to attach the function to the VPC name all resources; no action is a wildcard.',
      });
    }
    return role;
  }

  private grantAccess({ stream, tables, bucket, hotTier }: FunctionsProps['stores']): void {
    const {
      post,
      ingester,
      flusher,
      archiver,
      query,
      registry,
      operator,
      deleter,
      replayer,
      recovery,
      canary,
    } = this.byName;
    const { read, write, insert, count, delete: remove, scan } = ITEM_ACTIONS;

    for (const writer of [post, deleter]) {
      stream.grantPut(writer);
      tables.meta.grant(writer, ...read);
    }
    tables.meta.grant(post, ...count);

    for (const reader of [ingester, replayer]) {
      hotTier.grantConnect(reader);
      tables.meta.grant(reader, ...read, ...write, ...insert);
      bucket.grantQuarantine(reader);
    }

    // For a key of its own, which it makes and revokes.
    tables.meta.grant(canary, ...read, ...write, ...remove);

    tables.meta.grant(recovery, ...read, ...write, ...remove);
    bucket.grantRedrive(recovery);

    hotTier.grantConnect(flusher);
    tables.warm.grant(flusher, ...read, ...write);
    tables.meta.grant(flusher, ...read, ...write);

    tables.warm.grant(archiver, ...read, ...remove);
    tables.meta.grant(archiver, ...read, ...write);
    bucket.grantReadArchive(archiver);
    bucket.grantWriteArchive(archiver);

    hotTier.grantConnect(query);
    tables.warm.grant(query, ...read);
    tables.meta.grant(query, ...read, ...count);
    bucket.grantReadArchive(query);

    // The metrics of a service that is deleted go through the stream.
    stream.grantPut(registry);
    tables.meta.grant(registry, ...read, ...write, ...remove);

    hotTier.grantConnect(operator);
    tables.warm.grant(operator, ...read, ...remove);
    tables.meta.grant(operator, ...read, ...write, ...remove, ...scan);
    bucket.grantReadArchive(operator);
    bucket.grantEraseArchive(operator);
  }
}

/**
 * What is set aside for a function, which is also the most of it that runs: the query and the flusher are those that a
 * flood of requests or of ticks could let loose on a store. The ingester is bounded by the shards, one batch each.
 */
function reservedConcurrency(name: FunctionName, settings: Settings): number | undefined {
  const reserved: Partial<Record<FunctionName, number>> = {
    query: settings.queryConcurrency,
    flusher: settings.flusherConcurrency,
  };
  return reserved[name] || undefined;
}

function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
