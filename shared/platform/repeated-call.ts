import { setTimeout as sleep } from 'node:timers/promises';
import { isThrottlingError } from '@smithy/core/retry';
import { CALLS_REPEATED } from './names';
import { use } from './units';

/** Longest wait after a direct call that was throttled, ms. Retries of the SDK wait as long at most. */
const MAX_WAIT_MS = 1_000;

/**
 * Counts a direct call that has failed, and that the SDK will make again. If the service was throttling,
 * waits for a random time first. The SDK does not know of the direct call, so it would make its first attempt
 * at once.
 *
 * @param status HTTP status of the reply; undefined if there was none
 * @returns undefined, which stands for a call without an output
 */
export async function failed(status?: number, body?: Uint8Array): Promise<undefined> {
  use(CALLS_REPEATED, 1);
  if (status !== undefined && isThrottled(status, body)) await sleep(MAX_WAIT_MS * Math.random());
  return undefined;
}

function isThrottled(status: number, body: Uint8Array = new Uint8Array(0)): boolean {
  const name = errorNameOf(body);
  return isThrottlingError({ name, message: '', $fault: 'client', $metadata: { httpStatusCode: status } });
}

/**
 * Returns the name of the error in a reply, empty if there is none. DynamoDB and Kinesis name it by
 * `{"__type":"prefix#Name"}`, S3 by `<Code>Name</Code>`.
 */
export function errorNameOf(body: Uint8Array): string {
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, 1_000)).toString('latin1');
  const [, json, xml] = /"__type"\s*:\s*"(?:[^"]*#)?(\w+)"|<Code>(\w+)<\/Code>/.exec(text) ?? [];
  return json ?? xml ?? '';
}
