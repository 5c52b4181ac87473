import { patientFetch } from './patient-fetch';

/** A client of the HTTP API that uses plain fetch, as a dashboard does. */
export class Client {
  /**
   * @param isPatient whether the client retries a request after a 503, as agents do. A stack that uses AWS's freedoms
   *   returns such answers
   */
  constructor(
    private readonly url: string,
    private readonly apiKey: string,
    private readonly isPatient = false,
  ) {}

  /** Headers of every request. */
  get headers(): Record<string, string> {
    return { 'x-api-key': this.apiKey, 'content-type': 'application/json' };
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return (this.isPatient ? patientFetch : fetch)(new URL(path, this.url), {
      method,
      headers: { ...this.headers, ...headers },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  /** @throws when the answer is not 2xx */
  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await this.request(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  async createHost(name: string): Promise<string> {
    return (await this.json<{ id: string }>('POST', '/api/v0/hosts', { name, meta: {} })).id;
  }

  async post(points: readonly Point[]): Promise<void> {
    await this.json('POST', '/api/v0/tsdb', points);
  }

  /** Reads a metric, with `from` and `to` in seconds, both inclusive. @returns the answer's body, byte for byte */
  async metrics(hostId: string, name: string, from: number, to: number): Promise<string> {
    const response = await this.request(
      'GET',
      `/api/v0/hosts/${hostId}/metrics?name=${name}&from=${from}&to=${to}`,
    );
    const text = await response.text();
    if (!response.ok) throw new Error(`${hostId} ${name}: ${response.status} ${text}`);
    return text;
  }
}

export interface Point {
  readonly hostId: string;
  readonly name: string;
  readonly time: number;
  readonly value: number;
}
