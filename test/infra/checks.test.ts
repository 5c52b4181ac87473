import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Validations } from 'aws-cdk-lib';
import { CfnBucket } from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks, type NagPack, ServerlessChecks } from 'cdk-nag';
import { context } from '../../cdk.json';
import { readConfig, STAGES } from '../../infra/config';
import { addStacks } from '../../infra/stacks';
import { QUICK, synthesize } from './synthesize';

/** Findings of both packs as `rule at path`. */
function findings(
  app: App,
  options: { ignoreAcknowledgements?: boolean } = {},
): { rule: string; path: string }[] {
  const packs: NagPack[] = [new AwsSolutionsChecks(app), new ServerlessChecks(app)];
  return packs.flatMap((pack) => {
    if (options.ignoreAcknowledgements) Object.assign(pack, { isAcknowledged: () => false });
    return pack
      .validateScope(app)
      .violations.flatMap(({ ruleName: rule, violatingResources }) =>
        violatingResources.map(({ constructPath }) => ({ rule, path: constructPath! })),
      );
  });
}

/** Acknowledgements of the packs' rules, with the paths of their constructs. */
function acknowledgements(app: App): { rule: string; path: string; reason: string }[] {
  return app.node
    .findAll()
    .flatMap(({ node }) =>
      node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .flatMap(({ data }) => Object.entries(data as Record<string, string>))
        .map(([id, reason]) => ({ rule: id.replace(/^annotation::/i, ''), path: node.path, reason })),
    )
    .filter(({ rule }) => /^(AwsSolutions|Serverless)-/.test(rule));
}

describe.each(STAGES)('stage %s', (stage) => {
  const { app } = synthesize({ stage }, true);

  test('has every finding acknowledged', () => {
    expect(findings(app)).toEqual([]);
  });

  test('acknowledges only findings that exist, with a reason', () => {
    const found = findings(app, { ignoreAcknowledgements: true });
    expect(found).not.toEqual([]);
    for (const { rule, path, reason } of acknowledgements(app)) {
      const needed = found.some((f) => f.rule === rule && (f.path === path || f.path.startsWith(`${path}/`)));
      expect({ rule, path, needed }).toEqual({ rule, path, needed: true });
      expect(reason.length).toBeGreaterThan(40);
    }
  });

  test('acknowledges each finding at the construct that it concerns, never for a whole stack', () => {
    for (const { path } of acknowledgements(app)) expect(path.split('/').length).toBeGreaterThan(2);
  });
});

/** The options that add or change resources. Each entry sets as many of them as can be combined. */
const OPTIONS = [
  {
    stage: 'production',
    engine: 'redis',
    zones: '3',
    streamMode: 'on-demand',
    postEndpoint: 'url',
    postConcurrency: '100',
    domainName: 'metrics.example.com',
    certificateArn: 'arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d',
    alertTopics: 'arn:aws:sns:us-east-1:123456789012:alerts',
    mailTopic: 'arn:aws:sns:us-east-1:123456789012:mails',
    alarmEmail: 'ops@example.com',
    monthlyBudget: '5',
    monitoring: 'full',
    tracing: 'all',
  },
  { stage: 'production', cacheDurability: 'sync', cacheNodeType: 'cache.m7g.large', cacheShards: '3' },
];

test.each(OPTIONS)('a stage with %j has every finding acknowledged', (options) => {
  expect(findings(synthesize(options).app)).toEqual([]);
});

test('an open bucket is found, and stops the synthesis', () => {
  const outdir = mkdtempSync(join(tmpdir(), 'heterotsdb-synth-'));
  process.env.CDK_VALIDATION = 'true';
  const app = new App({ outdir, context: { ...context, ...QUICK } });
  const { stateful } = addStacks(app, readConfig({ stage: 'local' }));
  new CfnBucket(stateful, 'Open');
  expect(findings(app)).toContainEqual({ rule: 'AwsSolutions-S10', path: `${stateful.node.path}/Open` });
  expect(() => app.synth()).toThrow(/AwsSolutions-S10/);
  rmSync(outdir, { recursive: true });
});

test('two syntheses give the same templates', () => {
  const [first, second] = [synthesize({ stage: 'production' }), synthesize({ stage: 'production' })];
  expect(second.stateful.template).toEqual(first.stateful.template);
  expect(second.stateless.template).toEqual(first.stateless.template);
});
