import { type App, Validations } from 'aws-cdk-lib';
import { stageName } from '../shared/platform/names';
import type { Config } from './config';
import { StatefulStack } from './stateful-stack';
import { StatelessStack } from './stateless-stack';

/**
 * Adds a stage's two stacks, and the checks that synthesis runs on them unless CDK_VALIDATION is `false`. The
 * CDK reads this variable, too.
 */
export function addStacks(app: App, config: Config): { stateful: StatefulStack; stateless: StatelessStack } {
  const name = stageName(config.stage);
  const props = {
    config,
    tags: { application: 'heterotsdb', stage: config.stage },
    terminationProtection: config.retain,
  };
  const stateful = new StatefulStack(app, `${name}-stateful`, {
    ...props,
    description: `HeteroTSDB ${config.stage}: network, hot tier, stream, tables and bucket`,
  });
  const stateless = new StatelessStack(app, `${name}-stateless`, {
    ...props,
    description: `HeteroTSDB ${config.stage}: functions, API, mapping and schedules`,
    stores: stateful,
  });
  if (process.env.CDK_VALIDATION !== 'false') addChecks(app);
  return { stateful, stateless };
}

/**
 * Makes synthesis fail on every cdk-nag finding, unless the code of the construct acknowledges the finding with a
 * reason.
 */
function addChecks(app: App): void {
  // Load cdk-nag only here. Loading takes a third of the time of a synthesis without checks.
  const { AwsSolutionsChecks, ServerlessChecks } = require('cdk-nag') as typeof import('cdk-nag');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}
