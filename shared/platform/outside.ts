import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { publicLookup, requirePublicHost } from './public-address';

/** A request to a URL that a tenant chose. */
export interface OutsideExchange {
  readonly url: URL;
  readonly method: string;
  /** Values of headers, by name. A name with several values is sent as several headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer;
  /** Aborts the exchange and closes its connection. */
  readonly signal: AbortSignal;
  /** Whether the URL may have a private address. A stack on the user's own machine allows that. */
  readonly allowsPrivate: boolean;
  /** Maximum number of bytes of the response's body to read. If the body is longer, the connection is closed. */
  readonly maxBytes: number;
  /** IP version of the connection: 4, 6, or 0 for either. @default 0 */
  readonly family?: 0 | 4 | 6;
  /** Whether the server's certificate must be valid. @default true */
  readonly verifiesCertificate?: boolean;
}

export interface OutsideResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body, up to `maxBytes`. */
  readonly body: Buffer;
  /** Whether the body was read to its end or up to `maxBytes`; false if the connection broke earlier. */
  readonly isWhole: boolean;
  /** When the server's certificate expires, as Unix time in ms; absent without TLS. */
  readonly certificateEndsMs?: number;
}

/**
 * Sends a request, and returns its response. Does not follow redirects. Unless private addresses are allowed,
 * resolves the host name, checks the addresses, and connects to a checked address.
 *
 * @throws {Error} if there is no response, or the address is not public
 */
export async function exchangeOutside(exchange: OutsideExchange): Promise<OutsideResponse> {
  const { url, method, headers, body, signal, allowsPrivate, maxBytes } = exchange;
  const { family = 0, verifiesCertificate = true } = exchange;
  if (!allowsPrivate) requirePublicHost(url);
  return new Promise((resolve, reject) => {
    let head: Pick<OutsideResponse, 'status' | 'headers' | 'certificateEndsMs'> | undefined;
    const chunks: Buffer[] = [];
    let isWhole = false;
    let failure: Error | undefined;
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        method,
        agent: false,
        signal,
        family,
        rejectUnauthorized: verifiesCertificate,
        headers: { ...(body !== undefined && { 'content-length': body.length }), ...headers },
        ...(allowsPrivate ? {} : { lookup: publicLookup }),
      },
      (response) => {
        let bytes = 0;
        const endsMs = certificateEndOf(response.socket as TLSSocket);
        head = {
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
    // If the server switches to another protocol, the connection closes, but there is neither an error nor a response.
    request.on('close', () => {
      if (head === undefined) reject(failure ?? new Error('no answer'));
      else resolve({ ...head, body: Buffer.concat(chunks), isWhole });
    });
    request.end(body);
  });
}

function certificateEndOf(socket: TLSSocket): number | undefined {
  const end = socket.getPeerCertificate?.()?.valid_to;
  return end === undefined ? undefined : Date.parse(end);
}
