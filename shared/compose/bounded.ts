import type { HttpHandlerOptions } from '@smithy/core/protocols';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { CallTimes } from '../platform/call-time';

/** Makes the handler that sends an SDK client's requests over HTTP/1.1, with a time limit for each attempt. */
export function requestHandler({ connectMs, attemptMs, totalMs }: CallTimes): NodeHttpHandler {
  return new NodeHttpHandler({
    connectionTimeout: connectMs,
    requestTimeout: attemptMs,
    throwOnRequestTimeout: true,
    // Give up on a reply that stops halfway.
    socketTimeout: totalMs,
  });
}

interface Client {
  send: (command: never, options?: never) => Promise<unknown>;
}

/**
 * Bounds every call of a client: the call, including its retries, fails after `totalMs`. Callers that pass an abort
 * signal set their own bound.
 */
export function boundCalls<C extends Client>(client: C, { totalMs }: CallTimes): C {
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
