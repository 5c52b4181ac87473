import { ENV } from './names';
import type { RuntimeSettings } from './settings';

/** A function's environment lacks a variable that synthesis should have set. */
export class MissingVariableError extends Error {
  override readonly name = 'MissingVariableError';
}

/** @throws {MissingVariableError} */
export function variable(name: (typeof ENV)[keyof typeof ENV]): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new MissingVariableError(`the environment lacks ${name}`);
  return value;
}

/** Returns the stage's settings, which synthesis has checked and resolved. Durations are in ms. */
export function settings(): RuntimeSettings {
  return JSON.parse(variable(ENV.settings)) as RuntimeSettings;
}
