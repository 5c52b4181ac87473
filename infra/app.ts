import { App } from 'aws-cdk-lib';
import { InvalidSettingError } from '../shared/platform/settings';
import { readConfig } from './config';
import { addStacks } from './stacks';

/**
 * The app that `npx cdk` runs. It takes `-c stage=local|dev|staging|production` (default dev), `-c
 * window=20s` for one setting, and `-c settings='{"window":"20s"}'` for several.
 */
const app = new App();
try {
  addStacks(app, readConfig(app.node.getAllContext()));
} catch (error) {
  if (!(error instanceof InvalidSettingError)) throw error;
  console.error(`Wrong configuration: ${error.message}`);
  process.exit(1);
}
