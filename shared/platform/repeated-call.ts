import { setTimeout as sleep } from 'node:timers/promises';
import { isThrottlingError } from '@smithy/core/retry';
import { CALLS_REPEATED } from './names';
import { use } from './units';

/** Longest wait after a throttled call, ms. The SDK's own retries wait up to the same time. */
const MAX_WAIT_MS = 1_000;

/**
 * Counts a direct call that failed and that the SDK will make again. If the service was throttling, waits
 * first: the SDK does not know of the direct call, and would make its first attempt at once.
 *
 * @param status HTTP status of the reply; undefined when there was none
 * @returns undefined, which means that there is no reply
 */
export async function failed(status?: number, body?: Uint8Array): Promise<undefined> {
  use(CALLS_REPEATED, 1);
  if (status !== undefined && isThrottled(status, body)) await sleep(MAX_WAIT_MS * Math.random());
  return undefined;
}

/**
 * Whether an error reply means throttling. DynamoDB and Kinesis reply `{"__type":"prefix#Name"}`, S3
 * `<Code>Name</Code>`.
 */
function isThrottled(status: number, body: Uint8Array = new Uint8Array(0)): boolean {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 1_000)).toString('latin1');
  const [, json, xml] = /"__type"\s*:\s*"(?:[^"]*#)?(\w+)"|<Code>(\w+)<\/Code>/.exec(text) ?? [];
  const name = json ?? xml ?? '';
  return isThrottlingError({ name, message: '', $fault: 'client', $metadata: { httpStatusCode: status } });
}
