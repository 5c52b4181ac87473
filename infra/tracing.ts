import type { FunctionName } from '../shared/platform/names';
import type { Settings } from '../shared/platform/settings';

/**
 * Functions invoked for every request or batch. X-Ray traces the first invocation of each second and 5 % of
 * the others.
 */
const OFTEN: readonly FunctionName[] = ['post', 'ingester'];

/** Returns whether a function sends traces to X-Ray under the setting `tracing`. */
export function sendsTraces(name: FunctionName, tracing: Settings['tracing']): boolean {
  return tracing === 'all' || (tracing === 'rare' && !OFTEN.includes(name));
}
