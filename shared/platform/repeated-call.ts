import { setTimeout as sleep } from 'node:timers/promises';
import { isThrottlingError } from '@smithy/core/retry';
import { CALLS_REPEATED } from './names';
import { use } from './units';

/** Longest wait after a throttled call, ms: what the SDK's own retry waits at most before it sends such a call again. */
const MAX_WAIT_MS = 1_000;

/**
 * Counts a direct call that failed, and that the SDK makes again. Waits if the service was throttling: the SDK, which does not know
 * of the direct call, would send its first attempt at once.
 *
 * @param status of the answer; undefined when there was none
 * @returns undefined: there is no answer
 */
export async function failed(status?: number, body?: Uint8Array): Promise<undefined> {
  use(CALLS_REPEATED, 1);
  if (status !== undefined && isThrottled(status, body)) await sleep(MAX_WAIT_MS * Math.random());
  return undefined;
}

/** Whether an error says that the service throttles. DynamoDB and Kinesis write `{"__type":"prefix#Name"}`, S3 `<Code>Name</Code>`. */
function isThrottled(status: number, body: Uint8Array = new Uint8Array(0)): boolean {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 1_000)).toString('latin1');
  const [, json, xml] = /"__type"\s*:\s*"(?:[^"]*#)?(\w+)"|<Code>(\w+)<\/Code>/.exec(text) ?? [];
  const name = json ?? xml ?? '';
  return isThrottlingError({ name, message: '', $fault: 'client', $metadata: { httpStatusCode: status } });
}
