import { ENV } from './names';
import type { RuntimeSettings } from './settings';

/** The function's environment lacks a variable, which the deployment should have set. */
export class MissingVariableError extends Error {
  override readonly name = 'MissingVariableError';
}

/**
 * Returns an environment variable.
 *
 * @throws {MissingVariableError} when it is missing or empty
 */
export function variable(name: (typeof ENV)[keyof typeof ENV]): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new MissingVariableError(`the environment lacks ${name}`);
  return value;
}

/**
 * Returns the settings of the stage. Synthesis has validated them and added the defaults. Durations are in
 * ms.
 */
export function settings(): RuntimeSettings {
  return JSON.parse(variable(ENV.settings)) as RuntimeSettings;
}
