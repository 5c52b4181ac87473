import { readConfig } from '../../../infra/config';
import { type AccountFacts, preflightFindings } from '../../../scripts/ops/preflight-findings';

const names = { stacks: ['heterotsdb-production-stateful', 'heterotsdb-production-stateless'] };
const { settings } = readConfig({ stage: 'production' });
const good: AccountFacts = {
  identity: { account: '123456789012', arn: 'arn:aws:iam::123456789012:user/me' },
  region: 'us-east-1',
  bootstrapVersion: 30,
  stacks: [],
  functions: [],
  concurrency: 1000,
  shards: { used: 0, limit: 500 },
  vpcs: { used: 1, limit: 5 },
  ranges: ['172.31.0.0/16'],
  gatewayEndpoints: { used: 2, limit: 20 },
  cacheNodes: { used: 0, limit: 300 },
  linkedRoles: ['elasticache.amazonaws.com'],
};
const find = (changed: Partial<AccountFacts>, what: string) =>
  preflightFindings({ ...good, ...changed }, settings, names).find((finding) => finding.what === what)!;

describe('before a first deploy', () => {
  test('an account that has everything is ready', () => {
    const findings = preflightFindings(good, settings, names);
    expect(findings.filter(({ state }) => state !== 'ready')).toEqual([]);
    expect(findings.every(({ todo }) => todo === undefined)).toBe(true);
  });

  test.each<[name: string, changed: Partial<AccountFacts>, what: string, todo: RegExp]>([
    ['no credentials', { identity: { unknown: 'no credentials' } }, 'credentials', /aws sso login/],
    ['no region', { region: undefined }, 'region', /AWS_REGION/],
    ['no bootstrap', { bootstrapVersion: undefined }, 'CDK bootstrap', /cdk bootstrap/],
    ['an old bootstrap', { bootstrapVersion: 5 }, 'CDK bootstrap', /cdk bootstrap/],
    [
      'a stack that was rolled back',
      { stacks: [{ name: names.stacks[0]!, status: 'ROLLBACK_COMPLETE' }] },
      'names of stacks',
      /delete-stack --stack-name heterotsdb-production-stateful/,
    ],
    [
      "another application's functions",
      { functions: ['heterotsdb-production-post'] },
      'names of functions',
      /another stage/,
    ],
    ['a new account', { concurrency: 10 }, 'concurrent executions', /L-B99A9384.*accountConcurrency=10/],
    ['too few executions', { concurrency: 150 }, 'concurrent executions', /ask for 1000/],
    [
      'other executions than the stage has',
      { concurrency: 3000 },
      'concurrent executions',
      /accountConcurrency=3000/,
    ],
    ['no shard left', { shards: { used: 500, limit: 500 } }, 'shards of streams', /Kinesis/],
    ['no VPC left', { vpcs: { used: 5, limit: 5 } }, 'VPCs', /L-F678F1CE/],
    [
      'one gateway endpoint left',
      { gatewayEndpoints: { used: 19, limit: 20 } },
      'gateway endpoints',
      /L-1B52E74A/,
    ],
    ['no cache node left', { cacheNodes: { used: 299, limit: 300 } }, 'cache nodes', /ElastiCache/],
    [
      'no service-linked role',
      { linkedRoles: [] },
      'service-linked roles',
      /create-service-linked-role --aws-service-name elasticache.amazonaws.com/,
    ],
  ])('%s: says what to do', (_, changed, what, todo) => {
    expect(find(changed, what)).toMatchObject({ state: 'wrong', todo: expect.stringMatching(todo) });
  });

  test('a deployed stage needs nothing more, and its functions are its own', () => {
    const deployed = {
      stacks: [{ name: names.stacks[0]!, status: 'CREATE_COMPLETE' }],
      functions: ['heterotsdb-production-post'],
      vpcs: { used: 5, limit: 5 },
    };
    for (const what of ['names of functions', 'VPCs', 'names of stacks'])
      expect(find(deployed, what).state).toBe('ready');
  });

  test.each([
    {
      ranges: ['10.0.64.0/18'],
      saw: "another VPC has 10.0.64.0/18, so it cannot be peered with this stage's 10.0.0.0/16",
    },
    {
      ranges: ['10.0.0.0/8'],
      saw: "another VPC has 10.0.0.0/8, so it cannot be peered with this stage's 10.0.0.0/16",
    },
    { ranges: ['10.1.0.0/16', '172.31.0.0/16'], saw: 'no other VPC uses 10.0.0.0/16' },
  ])('names VPCs of the same addresses: $ranges', ({ ranges, saw }) => {
    expect(find({ ranges }, 'addresses')).toMatchObject({ state: 'ready', saw });
  });

  test('a fact that may not be read is unknown, and the missing right is named', () => {
    expect(find({ concurrency: { unknown: 'AccessDenied' } }, 'concurrent executions')).toEqual({
      what: 'concurrent executions',
      state: 'unknown',
      saw: 'AccessDenied',
      todo: 'allow your credentials lambda:GetAccountSettings',
    });
  });
});
