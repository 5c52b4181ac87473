import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';
import type { Config } from './config';
import { StatefulStack } from './stateful-stack';
import { StatelessStack } from './stateless-stack';

/**
 * Adds a stage's two stacks, and the checks they must pass.
 */
export function addStacks(app: App, config: Config): { stateful: StatefulStack; stateless: StatelessStack } {
  const name = `heterotsdb-${config.stage}`;
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

/** Makes a synthesis fail with anything that cdk-nag finds and nobody acknowledged beside its construct. */
export function addChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}
