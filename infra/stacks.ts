import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import { stageName } from '../shared/platform/names';
import type { Config } from './config';
import { StatefulStack } from './stateful-stack';
import { StatelessStack } from './stateless-stack';

/** Adds a stage's two stacks and the checks that synthesis runs on them. */
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
  addChecks(app);
  return { stateful, stateless };
}

/**
 * Makes synthesis fail on every cdk-nag finding that is not acknowledged, with a reason, next to its
 * construct.
 */
export function addChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}
