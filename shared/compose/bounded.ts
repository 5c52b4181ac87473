import type { HttpHandlerOptions } from '@smithy/core/protocols';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { CallTimes } from '../platform/call-time';

/** The SDK's connections, with an end to each attempt. It speaks HTTP/1.1 to every service. */
export function requestHandler({ connectMs, attemptMs, totalMs }: CallTimes): NodeHttpHandler {
  return new NodeHttpHandler({
    connectionTimeout: connectMs,
    requestTimeout: attemptMs,
    throwOnRequestTimeout: true,
    // An answer that stops in its middle.
    socketTimeout: totalMs,
  });
}

interface Client {
  send: (command: never, options?: never) => Promise<unknown>;
}

/** Ends every call of a client after `totalMs`, its retries included, unless the caller brings a signal of its own. */
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
