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

/** The stage's settings, checked at synthesis and here as resolved there: durations in ms. */
export function settings(): RuntimeSettings {
  return JSON.parse(variable(ENV.settings)) as RuntimeSettings;
}

/**
 * The version of a format to write: what the settings say. Lambda takes a function's code and its variables in two calls, so
 * in a deploy they may be of two releases for a moment; of what this one cannot write it writes its own choice.
 */
export function formatToWrite<V extends number>([choice, ...others]: readonly [V, ...V[]], wanted: V): V {
  return others.find((version) => version === wanted) ?? choice;
}
