import {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
} from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A request that has been received completely. */
export interface WholeRequest {
  readonly method: string;
  /** Path including the query string, percent-encoded. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface WholeResponse {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

export async function wholeRequest(incoming: IncomingMessage): Promise<WholeRequest> {
  const { method = 'GET', url: path = '/', headers } = incoming;
  return { method, path, headers, body: await buffer(incoming) };
}

/** Headers that concern a single connection and are therefore not forwarded. The length is set anew. */
const OF_CONNECTION = new Set(['connection', 'expect', 'keep-alive', 'transfer-encoding']);

function forwarded(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name)));
}

/** Sends a request to another server. Leaves out the headers that concern a single connection, in both directions. */
export async function forward(
  { method, path, headers, body }: WholeRequest,
  { hostname, host, port }: URL,
  agent: Agent,
): Promise<WholeResponse> {
  const sent = request({
    hostname,
    port,
    method,
    path,
    agent,
    headers: { ...forwarded(headers), host, 'content-length': body.length },
  });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    // Keep the listener: a connection that breaks during the response also reports its error to the request.
    sent.on('error', reject).on('response', resolve).end(body);
  });
  const whole = await buffer(response);
  // In a response to HEAD, the length is that of the body that GET would return.
  const length = method === 'HEAD' ? {} : { 'content-length': String(whole.length) };
  return {
    status: response.statusCode!,
    headers: { ...forwarded(response.headers), ...length },
    body: whole,
  };
}
