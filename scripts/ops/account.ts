import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { EC2Client, paginateDescribeVpcEndpoints, paginateDescribeVpcs } from '@aws-sdk/client-ec2';
import { ElastiCacheClient, paginateDescribeCacheClusters } from '@aws-sdk/client-elasticache';
import { GetRoleCommand, IAMClient } from '@aws-sdk/client-iam';
import { DescribeLimitsCommand, KinesisClient } from '@aws-sdk/client-kinesis';
import { GetAccountSettingsCommand, LambdaClient, paginateListFunctions } from '@aws-sdk/client-lambda';
import { GetServiceQuotaCommand, ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { type AccountFacts, type Fact, LINKED_ROLES } from './preflight-findings';

/** Default quotas, for accounts that may not read their quotas. */
const DEFAULT_VPCS = 5;
const DEFAULT_GATEWAY_ENDPOINTS = 20;
const DEFAULT_CACHE_NODES = 300;
const CALL_MS = 10_000;

/**
 * Reads facts about the environment's account and region. If a fact cannot be read, the result has the reason in its
 * place; all other facts are still returned.
 *
 * @param names names of the stacks and functions that a stage would create
 */
export async function lookAtAccount(names: {
  readonly stacks: readonly string[];
  readonly functions: readonly string[];
}): Promise<AccountFacts> {
  const unplaced = new STSClient({});
  const region = await unplaced.config.region().catch(() => undefined);
  unplaced.destroy();
  // Each call has its own timeout.
  const at = () => ({ abortSignal: AbortSignal.timeout(CALL_MS) });
  const options = { region: region ?? 'us-east-1', maxAttempts: 2 };
  const cloudFormation = new CloudFormationClient(options);
  const ec2 = new EC2Client(options);
  const elastiCache = new ElastiCacheClient(options);
  const iam = new IAMClient(options);
  const kinesis = new KinesisClient(options);
  const lambda = new LambdaClient(options);
  const quotas = new ServiceQuotasClient(options);
  const sts = new STSClient(options);

  const stack = (StackName: string) =>
    cloudFormation.send(new DescribeStacksCommand({ StackName }), at()).then(
      ({ Stacks = [] }) => Stacks[0],
      (error: Error) => {
        if (/does not exist/.test(error.message)) return undefined;
        throw error;
      },
    );
  const quota = (ServiceCode: string, QuotaCode: string, otherwise: number) =>
    quotas.send(new GetServiceQuotaCommand({ ServiceCode, QuotaCode }), at()).then(
      ({ Quota }) => Quota?.Value ?? otherwise,
      () => otherwise,
    );
  const clients = [sts, cloudFormation, ec2, elastiCache, iam, kinesis, lambda, quotas];
  try {
    const identity = await factOf(() =>
      sts
        .send(new GetCallerIdentityCommand({}), at())
        .then(({ Account = '', Arn = '' }) => ({ account: Account, arn: Arn })),
    );
    const [
      bootstrapVersion,
      stacks,
      functions,
      concurrency,
      shards,
      vpcs,
      gatewayEndpoints,
      cacheNodes,
      linkedRoles,
    ] = await Promise.all([
      factOf(async () => {
        const outputs = (await stack('CDKToolkit'))?.Outputs;
        const version = outputs?.find(({ OutputKey }) => OutputKey === 'BootstrapVersion')?.OutputValue;
        return version === undefined ? undefined : Number(version);
      }),
      factOf(async () => {
        const found = await Promise.all(names.stacks.map(stack));
        return found
          .filter((one) => one !== undefined)
          .map(({ StackName, StackStatus }) => ({ name: StackName!, status: String(StackStatus) }));
      }),
      factOf(async () => {
        const taken: string[] = [];
        for await (const { Functions = [] } of paginateListFunctions({ client: lambda }, {}, at()))
          taken.push(...Functions.map(({ FunctionName }) => FunctionName!));
        return taken.filter((name) => names.functions.includes(name));
      }),
      factOf(async () => {
        const { AccountLimit } = await lambda.send(new GetAccountSettingsCommand({}), at());
        return AccountLimit!.ConcurrentExecutions!;
      }),
      factOf(async () => {
        const { OpenShardCount, ShardLimit } = await kinesis.send(new DescribeLimitsCommand({}), at());
        return { used: OpenShardCount!, limit: ShardLimit! };
      }),
      factOf(async () => {
        const ranges: string[][] = [];
        for await (const { Vpcs = [] } of paginateDescribeVpcs({ client: ec2 }, {}, at()))
          ranges.push(
            ...Vpcs.map(({ CidrBlockAssociationSet = [] }) =>
              CidrBlockAssociationSet.map((each) => each.CidrBlock!),
            ),
          );
        const limit = await quota('vpc', 'L-F678F1CE', DEFAULT_VPCS);
        return { ranges: ranges.flat(), quota: { used: ranges.length, limit } };
      }),
      factOf(async () => {
        let used = 0;
        const Filters = [{ Name: 'vpc-endpoint-type', Values: ['Gateway'] }];
        const pages = paginateDescribeVpcEndpoints({ client: ec2 }, { Filters }, at());
        for await (const { VpcEndpoints = [] } of pages) used += VpcEndpoints.length;
        return { used, limit: await quota('vpc', 'L-1B52E74A', DEFAULT_GATEWAY_ENDPOINTS) };
      }),
      factOf(async () => {
        let used = 0;
        for await (const { CacheClusters = [] } of paginateDescribeCacheClusters(
          { client: elastiCache },
          {},
          at(),
        ))
          used += CacheClusters.reduce((sum, { NumCacheNodes = 1 }) => sum + NumCacheNodes, 0);
        return { used, limit: await quota('elasticache', 'L-DFE45DF3', DEFAULT_CACHE_NODES) };
      }),
      factOf(async () => {
        const roles = Object.entries(LINKED_ROLES).map(async ([service, RoleName]) =>
          iam.send(new GetRoleCommand({ RoleName }), at()).then(
            () => [service],
            (error: Error) => {
              if (/NoSuchEntity/.test(error.name)) return [];
              throw error;
            },
          ),
        );
        return (await Promise.all(roles)).flat();
      }),
    ]);
    return {
      identity,
      region,
      bootstrapVersion,
      stacks,
      functions,
      concurrency,
      shards,
      gatewayEndpoints,
      cacheNodes,
      linkedRoles,
      ...('unknown' in vpcs ? { vpcs, ranges: vpcs } : { vpcs: vpcs.quota, ranges: vpcs.ranges }),
    };
  } finally {
    for (const client of clients) client.destroy();
  }
}

async function factOf<T>(look: () => Promise<T>): Promise<Fact<T>> {
  try {
    return await look();
  } catch (error) {
    const { name, message } = error as Error;
    return { unknown: message === '' ? name : message.split('\n')[0]! };
  }
}
