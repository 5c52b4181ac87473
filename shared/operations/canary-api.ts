/** The API rejected the canary's key. */
export class CanaryRefusedError extends Error {
  override readonly name = 'CanaryRefusedError';
}

const METRIC = 'custom.canary';
const CUSTOM_IDENTIFIER = 'heterotsdb-canary';
const TIMEOUT_MS = 10_000;

/** The canary's API client. It uses plain HTTP, as agents do. */
export class CanaryApi {
  private constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly hostId: string,
    /** When the canary's host was created, as Unix time in ms. The host has no earlier samples. */
    readonly bornAtMs: number,
  ) {}

  /** Returns a client for the canary's host. Registers the host if it does not exist. */
  static async open(url: string, key: string): Promise<CanaryApi> {
    type Hosts = { hosts: { id: string; createdAt: number }[] };
    const find = () => request<Hosts>(url, key, 'GET', `/api/v0/hosts?customIdentifier=${CUSTOM_IDENTIFIER}`);
    let [host] = (await find()).hosts;
    if (host === undefined) {
      const spec = { name: CUSTOM_IDENTIFIER, meta: {}, customIdentifier: CUSTOM_IDENTIFIER };
      await request(url, key, 'POST', '/api/v0/hosts', spec);
      [host] = (await find()).hosts;
    }
    if (host === undefined) throw new Error('the host that was just created is not listed');
    return new CanaryApi(url, key, host.id, host.createdAt * 1000);
  }

  async post(timeMs: number, value: number): Promise<void> {
    const point = { hostId: this.hostId, name: METRIC, time: Math.floor(timeMs / 1000), value };
    await request(this.url, this.key, 'POST', '/api/v0/tsdb', [point]);
  }

  /**
   * Reads the canary's samples in a half-open range, sorted by time. Returns none if the canary has never
   * posted.
   */
  async read(fromMs: number, toMs: number): Promise<{ timeMs: number; value: number }[]> {
    const range = `from=${Math.floor(fromMs / 1000)}&to=${Math.ceil(toMs / 1000) - 1}`;
    const path = `/api/v0/hosts/${this.hostId}/metrics?name=${METRIC}&${range}`;
    const { metrics } = await request<{ metrics?: { time: number; value: number }[] }>(
      this.url,
      this.key,
      'GET',
      path,
      undefined,
      404,
    );
    return (metrics ?? []).map(({ time, value }) => ({ timeMs: time * 1000, value }));
  }
}

/**
 * @throws {CanaryRefusedError} on 401 and 403
 * @throws {Error} on any other status, except 2xx and `allowed`
 */
async function request<T>(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  allowed?: number,
): Promise<T> {
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
