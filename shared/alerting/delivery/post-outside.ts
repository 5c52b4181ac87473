import { exchangeOutside, type OutsideResponse } from '../../platform/outside';
import { requirePublicHost } from '../../platform/public-address';

/** A receiver did not accept a request. */
export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';

  /** @param isFinal whether the receiver would also refuse a retry */
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
/**
 * Maximum number of bytes of a response's body that are read. The content does not matter: the body is read so that the
 * connection ends cleanly.
 */
const MAX_RESPONSE_BYTES = 64 * 1024;

/**
 * Posts JSON to an address chosen by a tenant. Redirects are not followed.
 *
 * @param allowsPrivate permits private addresses and plain HTTP, for a local stack
 * @param timeoutMs timeout of the whole exchange including the connection
 * @throws {DeliveryError} unless the response is 2xx
 */
export async function postOutside(
  { url: text, json, authorization }: OutsideRequest,
  allowsPrivate: boolean,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const url = new URL(text);
  const { status } = await exchange(url, json, authorization, allowsPrivate, timeoutMs).catch(
    (error: unknown) => {
      throw new DeliveryError(`${url.host} was not reached: ${(error as Error).message}`, false, {
        cause: error,
      });
    },
  );
  if (status >= 200 && status < 300) return;
  const isFinal = status >= 300 && status < 500 && status !== 408 && status !== 429;
  throw new DeliveryError(`${url.host} answered ${status}`, isFinal);
}

/** Sends the request. Once the status has arrived, an error in the rest of the response is ignored. */
async function exchange(
  url: URL,
  json: string,
  authorization: string | undefined,
  allowsPrivate: boolean,
  timeoutMs: number,
): Promise<OutsideResponse> {
  if (!allowsPrivate) {
    requirePublicHost(url);
    if (url.protocol !== 'https:') throw new Error('the URL must begin with https://');
  }
  return exchangeOutside({
    url,
    method: 'POST',
    body: Buffer.from(json),
    allowsPrivate,
    maxBytes: MAX_RESPONSE_BYTES,
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      'content-type': 'application/json',
      'user-agent': 'heterotsdb',
      ...(authorization !== undefined && { authorization }),
    },
  });
}
