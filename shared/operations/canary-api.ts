/** The API refused the canary's key. */
export class CanaryRefusedError extends Error {
  override readonly name = 'CanaryRefusedError';
}

const METRIC = 'custom.canary';
const CUSTOM_IDENTIFIER = 'heterotsdb-canary';
const TIMEOUT_MS = 10_000;

interface Api {
  readonly url: string;
  readonly key: string;
}

/** The canary's API client. It uses plain HTTP, as agents do. */
export class CanaryApi {
  private constructor(
    private readonly api: Api,
    private readonly hostId: string,
    /** When the canary's host was created, as Unix time in ms. The host has no earlier samples. */
    readonly bornAtMs: number,
  ) {}

  /** Returns a client for the canary's host. Registers the host if it does not exist. */
  static async open(url: string, key: string): Promise<CanaryApi> {
    type Hosts = { hosts: { id: string; createdAt: number }[] };
    const path = `/api/v0/hosts?customIdentifier=${CUSTOM_IDENTIFIER}`;
    const find = () => request<Hosts>({ url, key }, path, {});
    let [host] = (await find()).hosts;
    if (host === undefined) {
      const spec = { name: CUSTOM_IDENTIFIER, meta: {}, customIdentifier: CUSTOM_IDENTIFIER };
      await request({ url, key }, '/api/v0/hosts', { body: spec });
      [host] = (await find()).hosts;
    }
    if (host === undefined) throw new Error('the host that was just created is not listed');
    return new CanaryApi({ url, key }, host.id, host.createdAt * 1000);
  }

  async post(timeMs: number, value: number): Promise<void> {
    const point = { hostId: this.hostId, name: METRIC, time: Math.floor(timeMs / 1000), value };
    await request(this.api, '/api/v0/tsdb', { body: [point] });
  }

  /**
   * Reads the canary's samples in a half-open range, sorted by time. Returns none if the canary has never
   * posted.
   */
  async read(fromMs: number, toMs: number): Promise<{ timeMs: number; value: number }[]> {
    const range = `from=${Math.floor(fromMs / 1000)}&to=${Math.ceil(toMs / 1000) - 1}`;
    const path = `/api/v0/hosts/${this.hostId}/metrics?name=${METRIC}&${range}`;
    type Metrics = { metrics?: { time: number; value: number }[] };
    const { metrics } = await request<Metrics>(this.api, path, { allowed: 404 });
    return (metrics ?? []).map(({ time, value }) => ({ timeMs: time * 1000, value }));
  }
}

/**
 * Posts `body` to the path, or sends a GET request if there is no body.
 *
 * @throws {CanaryRefusedError} on 401 and 403
 * @throws {Error} on any other status, except 2xx and `allowed`
 */
async function request<T>(
  { url, key }: Api,
  path: string,
  { body, allowed }: { readonly body?: unknown; readonly allowed?: number },
): Promise<T> {
  const method = body === undefined ? 'GET' : 'POST';
  const response = await fetch(new URL(path, url), {
    method,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const text = await response.text();
  if (response.status === 401 || response.status === 403)
    throw new CanaryRefusedError(`${method} ${path} answers ${response.status}`);
  if (!response.ok && response.status !== allowed)
    throw new Error(`${method} ${path} answers ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as T;
}
