import { type IncomingHttpHeaders, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { publicLookup, requirePublicHost } from './public-address';

/** A request to an address that a tenant chose. */
export interface OutsideExchange {
  readonly url: URL;
  readonly method: string;
  /** By name; a name with several values is sent as several headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Buffer;
  /** Ends the exchange, the connection included. */
  readonly signal: AbortSignal;
  /** Lets it go to private addresses, for a stack on one's own machine. */
  readonly allowsPrivate: boolean;
  /** Most bytes of the answer's body that are read. The rest ends the connection. */
  readonly maxBytes: number;
  /** The family of addresses to connect to. @default 0, any */
  readonly family?: 0 | 4 | 6;
  /** @default true */
  readonly verifiesCertificate?: boolean;
}

export interface OutsideAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The first bytes of the body. */
  readonly body: Buffer;
  /** Whether the body ended well, or at `maxBytes`. */
  readonly isWhole: boolean;
  /** When the server's certificate ends, ms since epoch; absent without TLS. */
  readonly certificateEndsMs?: number;
}

/**
 * Exchanges one request for its answer; redirects are not followed. Addresses are checked once names are resolved.
 *
 * @throws {Error} when there is no answer
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
