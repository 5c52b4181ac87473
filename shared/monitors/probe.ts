import { exchangeOutside, type OutsideResponse } from '../platform/outside';
import type { MonitorOf } from './monitor';

/** The request that a monitor of an external URL describes. */
export type ProbeRequest = Pick<
  MonitorOf<'external'>,
  | 'url'
  | 'method'
  | 'headers'
  | 'requestBody'
  | 'containsString'
  | 'skipCertificateVerification'
  | 'followRedirect'
  | 'dualstack'
>;

/** Result of a request. */
export interface Probe {
  /** HTTP status of the last response, after redirects. */
  readonly status?: number;
  /**
   * Time from the start of the first request to the end of the last response's body, including redirects, in
   * ms. Absent if the last response was not complete.
   */
  readonly responseMs?: number;
  /** The reason why the URL is judged CRITICAL, regardless of the HTTP status. */
  readonly error?: string;
  /**
   * When the certificate of the first server (before any redirect) expires, as Unix time in ms. Absent
   * without TLS.
   */
  readonly certificateEndsMs?: number;
}

/** Mackerel's time-out for the whole exchange, including redirects and the body, in ms. */
const TIMEOUT_MS = 15_000;
/** Maximum number of bytes of a body that are searched for `containsString`. */
const MAX_PROBED_BYTES = 512 * 1024;
/** Maximum number of redirects that are followed. Mackerel treats the third redirect as an error. */
const MAX_REDIRECTS = 2;
const DEFAULT_HEADERS = [{ name: 'Cache-Control', value: 'no-cache' }];
/** Headers that Node derives from the request. Values from the monitor are ignored. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['connection', 'content-length', 'transfer-encoding']);
const FAMILY = { ipv4: 4, ipv6: 6, auto: 0 } as const;

/**
 * Requests an external URL.
 *
 * @param allowsPrivate whether private addresses are allowed, for a local stack
 * @param timeoutMs time-out for the whole exchange, in ms
 */
export async function probe(
  request: ProbeRequest,
  allowsPrivate: boolean,
  timeoutMs = TIMEOUT_MS,
): Promise<Probe> {
  const startedMs = performance.now();
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const { response, certificateEndsMs } = await follow(request, allowsPrivate, signal);
    if (!response.isWhole) throw new Error('the answer broke off');
    const found = {
      status: response.status,
      responseMs: Math.round(performance.now() - startedMs),
      ...(certificateEndsMs !== undefined && { certificateEndsMs }),
    };
    const wanted = request.containsString;
    if (!wanted || response.body.includes(wanted)) return found;
    return { ...found, error: `the body does not contain ${JSON.stringify(shorten(wanted))}` };
  } catch (error) {
    return { error: signal.aborted ? `no answer within ${timeoutMs / 1000} s` : errorText(error as Error) };
  }
}

async function follow(
  request: ProbeRequest,
  allowsPrivate: boolean,
  signal: AbortSignal,
): Promise<{ readonly response: OutsideResponse; readonly certificateEndsMs?: number }> {
  let url = new URL(request.url);
  let method: string = request.method ?? 'GET';
  let body = request.requestBody ? Buffer.from(request.requestBody) : undefined;
  const headers = headersOf(request);
  let certificateEndsMs: number | undefined;
  for (let redirects = 0; ; redirects++) {
    const response = await exchangeOutside({
      url,
      method,
      headers,
      signal,
      allowsPrivate,
      maxBytes: MAX_PROBED_BYTES,
      ...(body !== undefined && { body }),
      family: FAMILY[request.dualstack ?? 'ipv4'],
      verifiesCertificate: request.skipCertificateVerification !== true,
    });
    if (redirects === 0) certificateEndsMs = response.certificateEndsMs;
    const { location } = response.headers;
    if (request.followRedirect !== true || !isRedirect(response.status) || location === undefined)
      return { response, ...(certificateEndsMs !== undefined && { certificateEndsMs }) };
    if (redirects === MAX_REDIRECTS) throw new Error(`more than ${MAX_REDIRECTS} redirects`);
    if (!URL.canParse(location, url.href)) throw new Error('the redirect names no URL');
    const next = new URL(location, url);
    if (next.protocol !== 'http:' && next.protocol !== 'https:')
      throw new Error(`a redirect to ${next.protocol} is not followed`);
    if (next.origin !== url.origin) removeSecrets(headers);
    else addCookies(headers, response.headers['set-cookie'] ?? []);
    url = next;
    if (response.status < 307 && method !== 'GET') {
      method = 'GET';
      body = undefined;
    }
  }
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

type Headers = Record<string, string | string[]>;

function headersOf({ headers }: ProbeRequest): Headers {
  const found: Headers = Object.create(null);
  for (const { name, value } of headers ?? DEFAULT_HEADERS) {
    const key = name.toLowerCase();
    if (OWN_HEADERS.has(key)) continue;
    const before = found[key];
    found[key] = before === undefined ? value : [before, value].flat();
  }
  return { 'user-agent': 'heterotsdb', ...found };
}

/** Removes the headers that another origin must not receive, before a redirect to that origin is followed. */
function removeSecrets(headers: Headers): void {
  for (const name of ['authorization', 'cookie', 'host', 'proxy-authorization']) delete headers[name];
}

function addCookies(headers: Headers, cookies: readonly string[]): void {
  const pairs = cookies.map((cookie) => cookie.split(';', 1)[0]!.trim());
  if (pairs.length === 0) return;
  headers.cookie = [headers.cookie ?? [], ...pairs].flat().join('; ');
}

const MAX_SHOWN = 100;

function shorten(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}

function errorText({ message, name }: Error): string {
  return (message || name).slice(0, 1_000);
}
