import type { HttpHandlerOptions } from '@smithy/core/protocols';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { CallTimes } from '../platform/call-time';

/** Makes the handler that sends an SDK client's requests by HTTP/1.1, with a time limit for each attempt. */
export function requestHandler({ connectMs, attemptMs, totalMs }: CallTimes): NodeHttpHandler {
  return new NodeHttpHandler({
    connectionTimeout: connectMs,
    requestTimeout: attemptMs,
    throwOnRequestTimeout: true,
    // Abandon a reply that stops arriving in the middle.
    socketTimeout: totalMs,
  });
}

interface Client {
  send: (command: never, options?: never) => Promise<unknown>;
}

/**
 * Bounds every call of a client: the call, including its retries, fails after `totalMs`. A caller that passes an
 * abort signal sets its own bound.
 */
export function bounded<C extends Client>(client: C, { totalMs }: CallTimes): C {
  const send = client.send.bind(client) as unknown as (
    command: unknown,
    options: HttpHandlerOptions,
  ) => Promise<unknown>;
  client.send = ((command: unknown, options: HttpHandlerOptions = {}) =>
    send(command, {
      ...options,
      abortSignal: options.abortSignal ?? AbortSignal.timeout(totalMs),
    })) as C['send'];
  return client;
}
