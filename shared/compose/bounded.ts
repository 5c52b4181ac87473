import type { HttpHandlerOptions } from '@smithy/core/protocols';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { CallTimes } from '../platform/call-time';

/**
 * Makes the SDK's HTTP connections, with a time limit for each attempt. They use HTTP/1.1 for every service.
 */
export function requestHandler({ connectMs, attemptMs, totalMs }: CallTimes): NodeHttpHandler {
  return new NodeHttpHandler({
    connectionTimeout: connectMs,
    requestTimeout: attemptMs,
    throwOnRequestTimeout: true,
    // Ends a reply that stops arriving in the middle.
    socketTimeout: totalMs,
  });
}

interface Client {
  send: (command: never, options?: never) => Promise<unknown>;
}

/**
 * Ends every call of a client, including its retries, after `totalMs`, unless the caller passes an abort
 * signal of its own.
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
