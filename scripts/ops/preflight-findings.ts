import { BlockList } from 'node:net';
import { VPC_RANGE } from '../../shared/platform/names';
import type { Settings } from '../../shared/platform/settings';

/** A fact about an account, or the reason why it could not be read. */
export type Fact<T> = T | { readonly unknown: string };

/** State of an account and region before the first deployment. */
export interface AccountFacts {
  /** Identity of the credentials. */
  readonly identity: Fact<{ readonly account: string; readonly arn: string }>;
  readonly region: string | undefined;
  /** Version of the CDK's bootstrap stack; undefined if there is none. */
  readonly bootstrapVersion: Fact<number | undefined>;
  /** Existing stacks with the names that the stage would use, and their states. */
  readonly stacks: Fact<readonly { readonly name: string; readonly status: string }[]>;
  /** Existing functions with the names that the stage would use. */
  readonly functions: Fact<readonly string[]>;
  /** Quota of concurrent executions in the region. */
  readonly concurrency: Fact<number>;
  readonly shards: Fact<Quota>;
  readonly vpcs: Fact<Quota>;
  /** Address ranges of the region's VPCs, such as `10.0.0.0/16`. */
  readonly ranges: Fact<readonly string[]>;
  readonly gatewayEndpoints: Fact<Quota>;
  readonly cacheNodes: Fact<Quota>;
  /** The services in {@link LINKED_ROLES} whose role exists. */
  readonly linkedRoles: Fact<readonly string[]>;
}

interface Quota {
  readonly used: number;
  readonly limit: number;
}

export interface Finding {
  readonly what: string;
  readonly state: 'ready' | 'wrong' | 'unknown';
  readonly saw: string;
  /** What the operator must do; undefined if nothing. */
  readonly todo: string | undefined;
}

/** Services that need a service-linked role. First use creates the role if the deployer has the permission. */
export const LINKED_ROLES = {
  'elasticache.amazonaws.com': 'AWSServiceRoleForElastiCache',
} as const;

/** Smallest bootstrap version that `cdk deploy` accepts. */
const MIN_BOOTSTRAP = 6;
/** Number of concurrent executions that Lambda keeps unreserved in every account. */
const UNRESERVED = 100;
/** Quota of concurrent executions of a new account, before AWS raises it. */
const NEW_ACCOUNT = 10;

/** Number of gateway endpoints in the stage's VPC: one for DynamoDB and one for S3. */
const GATEWAY_ENDPOINTS = 2;

/** States of a stack that block further deployments. */
const STUCK = /^(ROLLBACK_COMPLETE|ROLLBACK_FAILED|DELETE_FAILED|CREATE_FAILED)$/;

/**
 * Judges an account before a stage is deployed. Prerequisites come first.
 *
 * @param names names of the stage's stacks and functions
 */
export function preflightFindings(
  facts: AccountFacts,
  settings: Settings,
  names: { readonly stacks: readonly string[] },
): Finding[] {
  const hasStack = !isUnknown(facts.stacks) && facts.stacks.length > 0;
  return [
    isUnknown(facts.identity)
      ? wrong('credentials', facts.identity.unknown, 'set AWS_PROFILE, or sign in with aws sso login')
      : ready('credentials', `account ${facts.identity.account}, as ${facts.identity.arn}`),
    facts.region === undefined
      ? wrong('region', 'none', 'set AWS_REGION, such as AWS_REGION=us-east-1')
      : ready('region', facts.region),
    judge(
      'CDK bootstrap',
      facts.bootstrapVersion,
      'allow your credentials cloudformation:DescribeStacks on CDKToolkit',
      (version) => ({
        saw: version === undefined ? 'no stack CDKToolkit' : `version ${version}`,
        todo: version === undefined || version < MIN_BOOTSTRAP ? 'run npx cdk bootstrap' : undefined,
      }),
    ),
    judge(
      'names of stacks',
      facts.stacks,
      'allow your credentials cloudformation:DescribeStacks',
      (stacks) => {
        const stuck = stacks.find(({ status }) => STUCK.test(status));
        return {
          saw:
            stacks.map(({ name, status }) => `${name} ${status}`).join(', ') ||
            `${names.stacks.join(', ')} are free`,
          todo: stuck && `delete it first: aws cloudformation delete-stack --stack-name ${stuck.name}`,
        };
      },
    ),
    judge('names of functions', facts.functions, 'allow your credentials lambda:ListFunctions', (taken) => ({
      saw: taken.length === 0 ? 'free' : taken.join(', '),
      // If one of the stage's stacks exists, the existing functions belong to it.
      todo:
        taken.length > 0 && !hasStack
          ? 'another application uses these names: delete its functions, or choose another stage'
          : undefined,
    })),
    judge(
      'concurrent executions',
      facts.concurrency,
      'allow your credentials lambda:GetAccountSettings',
      (limit) => concurrencyOf(limit, settings),
    ),
    quotaFinding(
      'shards of streams',
      facts.shards,
      settings.streamMode === 'on-demand' || hasStack ? 0 : settings.streamShards,
      'allow your credentials kinesis:DescribeLimits',
      'ask for more: Service Quotas, Kinesis Data Streams, shards per Region',
    ),
    quotaFinding(
      'VPCs',
      facts.vpcs,
      hasStack ? 0 : 1,
      'allow your credentials ec2:DescribeVpcs and servicequotas:GetServiceQuota',
      'ask for more: Service Quotas, Amazon VPC, L-F678F1CE; or delete one that is unused',
    ),
    quotaFinding(
      'gateway endpoints',
      facts.gatewayEndpoints,
      hasStack ? 0 : GATEWAY_ENDPOINTS,
      'allow your credentials ec2:DescribeVpcEndpoints',
      'ask for more: Service Quotas, Amazon VPC, L-1B52E74A; or delete one that is unused',
    ),
    // An overlap is not an error, because two VPCs may have the same addresses.
    judge('addresses', facts.ranges, 'allow your credentials ec2:DescribeVpcs', (ranges) => {
      const others = hasStack ? [] : ranges.filter((range) => overlap(range, VPC_RANGE));
      return {
        saw:
          others.length === 0
            ? `no other VPC uses ${VPC_RANGE}`
            : `another VPC has ${others.join(', ')}, so it cannot be peered with this stage's ${VPC_RANGE}`,
      };
    }),
    quotaFinding(
      'cache nodes',
      facts.cacheNodes,
      hasStack ? 0 : settings.cacheShards * (1 + settings.cacheReplicas),
      'allow your credentials elasticache:DescribeCacheClusters',
      'ask for more: Service Quotas, Amazon ElastiCache, nodes per Region',
    ),
    judge('service-linked roles', facts.linkedRoles, 'allow your credentials iam:GetRole', (there) => {
      const missing = Object.keys(LINKED_ROLES).filter((service) => !there.includes(service));
      return {
        saw: missing.length === 0 ? 'there' : `none of ${missing.join(', ')}`,
        todo:
          missing.length === 0
            ? undefined
            : missing
                .map((service) => `aws iam create-service-linked-role --aws-service-name ${service}`)
                .join('; '),
      };
    }),
  ];
}

function concurrencyOf(limit: number, settings: Settings): { saw: string; todo?: string } {
  const reserved =
    (settings.queryConcurrency ?? 0) + (settings.flusherConcurrency ?? 0) + (settings.postConcurrency ?? 0);
  const saw = `${limit}; the stage is set for ${settings.accountConcurrency}${reserved > 0 ? ` and reserves ${reserved}` : ''}`;
  if (limit === settings.accountConcurrency) return { saw };
  if (limit <= NEW_ACCOUNT)
    return {
      saw,
      todo: `a new account's: ask for 1000 (Service Quotas, Lambda, L-B99A9384), which takes hours; until then deploy a dev stage with -c accountConcurrency=${limit}`,
    };
  if (reserved > 0 && limit - reserved < UNRESERVED)
    return { saw, todo: `ask for ${settings.accountConcurrency} (Service Quotas, Lambda, L-B99A9384)` };
  return {
    saw,
    todo: `deploy with -c accountConcurrency=${limit}, or ask for ${settings.accountConcurrency} (L-B99A9384)`,
  };
}

/** Whether two ranges of IPv4 addresses have an address in common. */
function overlap(one: string, other: string): boolean {
  const startOf = (range: string) => range.split('/')[0]!;
  const has = (range: string, address: string) => {
    const list = new BlockList();
    list.addSubnet(startOf(range), Number(range.split('/')[1]));
    return list.check(address);
  };
  return has(one, startOf(other)) || has(other, startOf(one));
}

function quotaFinding(what: string, quota: Fact<Quota>, needs: number, right: string, todo: string): Finding {
  return judge(what, quota, right, ({ used, limit }) => ({
    saw: `${used} of ${limit} used, ${needs} more needed`,
    todo: used + needs > limit ? todo : undefined,
  }));
}

function judge<T>(
  what: string,
  fact: Fact<T>,
  right: string,
  look: (value: T) => { readonly saw: string; readonly todo?: string | undefined },
): Finding {
  if (isUnknown(fact)) return { what, state: 'unknown', saw: fact.unknown, todo: right };
  const { saw, todo } = look(fact);
  return todo === undefined ? ready(what, saw) : wrong(what, saw, todo);
}

function isUnknown<T>(fact: Fact<T>): fact is { readonly unknown: string } {
  return typeof fact === 'object' && fact !== null && 'unknown' in fact;
}

function ready(what: string, saw: string): Finding {
  return { what, state: 'ready', saw, todo: undefined };
}

function wrong(what: string, saw: string, todo: string): Finding {
  return { what, state: 'wrong', saw, todo };
}
