import { App } from 'aws-cdk-lib';
import { InvalidSettingError } from '../shared/platform/settings';
import { readConfig } from './config';
import { addStacks } from './stacks';

/**
 * What `npx cdk` runs: `-c stage=local|dev|staging|production` (default dev), `-c
 * settings='{"window":"20s"}'`, or `-c window=20s` for one setting.
 */
const app = new App();
try {
  addStacks(app, readConfig(app.node.getAllContext()));
} catch (error) {
  if (!(error instanceof InvalidSettingError)) throw error;
  console.error(`Wrong configuration: ${error.message}`);
  process.exit(1);
}
