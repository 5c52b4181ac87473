import type { FunctionName } from '../shared/platform/names';
import type { Settings } from '../shared/platform/settings';

/** Functions that run for each request or batch of samples: Lambda traces the first of each second, and one in twenty. */
const OFTEN: readonly FunctionName[] = ['post', 'ingester'];

/** Returns whether a function sends traces to X-Ray under the setting `tracing`. */
export function sendsTraces(name: FunctionName, tracing: Settings['tracing']): boolean {
  return tracing === 'all' || (tracing === 'rare' && !OFTEN.includes(name));
}
