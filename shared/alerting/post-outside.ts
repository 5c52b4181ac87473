import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { publicLookup, requirePublicHost } from '../platform/public-address';

/** A receiver did not accept a request. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';

  /**
   * @param isFinal whether a retry would be refused again
   */
  constructor(
    message: string,
    readonly isFinal: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export interface OutsideRequest {
  readonly url: string;
  readonly json: string;
  /**
   * Value of the header `authorization`.
   *
   * @default none
   */
  readonly authorization?: string;
}

/** Timeout of a whole exchange including the connection, in ms. */
const TIMEOUT_MS = 5_000;
/** Most bytes read of an answer's body. They are read only to end the connection cleanly, then discarded. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * Posts JSON to an address chosen by a tenant. Redirects are not followed.
 *
 * @param allowsPrivate permits private addresses and plain HTTP, for a stack on one's own machine
 * @param timeoutMs timeout of the whole exchange including the connection
 * @throws {DeliveryError} unless the answer is 2xx
 */
export async function postOutside(
  { url: text, json, authorization }: OutsideRequest,
  allowsPrivate: boolean,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const url = new URL(text);
  const body = Buffer.from(json);
  const status = await new Promise<number>((resolve, reject) => {
    let answered: number | undefined;
    if (!allowsPrivate) {
      requirePublicHost(url);
      if (url.protocol !== 'https:') throw new Error('https is needed');
    }
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(
      url,
      {
        method: 'POST',
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          'user-agent': 'heterotsdb',
          ...(authorization !== undefined && { authorization }),
        },
        ...(allowsPrivate ? {} : { lookup: publicLookup }),
      },
      (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > MAX_ANSWER_BYTES) response.destroy();
        });
        response.on('error', () => {});
        answered = response.statusCode;
      },
    );
    const end = (error: unknown) => (answered === undefined ? reject(error) : resolve(answered));
    request.on('error', end);
    // The status decides, however the body ends. A switch of protocols ends the connection without an error.
    request.on('close', () => end(new Error('no answer')));
    request.end(body);
  }).catch((error: unknown) => {
    throw new DeliveryError(`${url.host} was not reached: ${(error as Error).message}`, false, {
      cause: error,
    });
  });
  if (status >= 200 && status < 300) return;
  const isFinal = status >= 300 && status < 500 && status !== 408 && status !== 429;
  throw new DeliveryError(`${url.host} answered ${status}`, isFinal);
}
