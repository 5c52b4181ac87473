import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { publicLookup, requirePublicHost } from './public-address';

/** A request to a URL that a tenant chose. */
export interface OutsideExchange {
  readonly url: URL;
  readonly method: string;
  /** Values by header name. A name with several values is sent as several headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer;
  /** Aborts the exchange and closes its connection. */
  readonly signal: AbortSignal;
  /** Whether private addresses are allowed, for a stack on the user's own machine. */
  readonly allowsPrivate: boolean;
  /** Most bytes of the answer's body that are read. The connection is closed when a body is longer. */
  readonly maxBytes: number;
  /** Address family of the connection: 4, 6, or 0 for any. @default 0 */
  readonly family?: 0 | 4 | 6;
  /** @default true */
  readonly verifiesCertificate?: boolean;
}

export interface OutsideAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body, cut at `maxBytes`. */
  readonly body: Buffer;
  /** Whether the body was read to its end or to `maxBytes`; false if the connection broke. */
  readonly isWhole: boolean;
  /** Expiry of the server's certificate, in ms since epoch. Absent without TLS. */
  readonly certificateEndsMs?: number;
}

/**
 * Sends one request and returns its answer. Redirects are not followed. Unless private addresses are allowed, the connection uses only
 * addresses that are checked after the host name is resolved.
 *
 * @throws {Error} if there is no answer, or the address is not public
 */
export async function exchangeOutside(exchange: OutsideExchange): Promise<OutsideAnswer> {
  const { url, method, headers, body, signal, allowsPrivate, maxBytes } = exchange;
  const { family = 0, verifiesCertificate = true } = exchange;
  if (!allowsPrivate) requirePublicHost(url);
  return new Promise((resolve, reject) => {
    let answer: Pick<OutsideAnswer, 'status' | 'headers' | 'certificateEndsMs'> | undefined;
    const chunks: Buffer[] = [];
    let isWhole = false;
    let failure: Error | undefined;
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        ...{ method, agent: false, signal, family, rejectUnauthorized: verifiesCertificate },
        headers: { ...(body !== undefined && { 'content-length': body.length }), ...headers },
        ...(allowsPrivate ? {} : { lookup: publicLookup }),
      },
      (response) => {
        let bytes = 0;
        const endsMs = certificateEndOf(response.socket as TLSSocket);
        answer = {
          status: response.statusCode!,
          headers: response.headers,
          ...(endsMs !== undefined && { certificateEndsMs: endsMs }),
        };
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk.subarray(0, maxBytes - bytes));
          bytes += chunk.length;
          if (bytes < maxBytes) return;
          isWhole = true;
          response.destroy();
        });
        response.on('end', () => {
          isWhole = true;
        });
        response.on('error', () => {});
      },
    );
    request.on('error', (error) => {
      failure = error;
    });
    // An answer that changes the protocol ends the connection without an error.
    request.on('close', () => {
      if (answer === undefined) reject(failure ?? new Error('no answer'));
      else resolve({ ...answer, body: Buffer.concat(chunks), isWhole });
    });
    request.end(body);
  });
}

function certificateEndOf(socket: TLSSocket): number | undefined {
  const end = socket.getPeerCertificate?.()?.valid_to;
  return end === undefined ? undefined : Date.parse(end);
}
