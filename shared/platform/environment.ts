import { ENV } from './names';
import type { RuntimeSettings } from './settings';

/** Returns an environment variable, which the deployment has set. Throws if it is missing or empty. */
export function variable(name: (typeof ENV)[keyof typeof ENV]): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`the environment lacks ${name}`);
  return value;
}

/**
 * Returns the settings of the stage. Synthesis has validated them and added the defaults. Durations are in
 * ms.
 */
export function settings(): RuntimeSettings {
  return JSON.parse(variable(ENV.settings)) as RuntimeSettings;
}
