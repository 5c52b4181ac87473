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

/** Reads the stage's settings, which synthesis checked and resolved: durations are in ms. */
export function settings(): RuntimeSettings {
  return JSON.parse(variable(ENV.settings)) as RuntimeSettings;
}

/**
 * Chooses the version of a format to write: the one in the settings, or this release's first choice if it cannot write that. A
 * deploy updates a function's code and its variables in two calls, so for a moment they may be of two releases.
 */
export function formatToWrite<V extends number>([choice, ...others]: readonly [V, ...V[]], wanted: V): V {
  return others.find((version) => version === wanted) ?? choice;
}
