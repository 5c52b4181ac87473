import { type ApiKeyOptions, apiKeyOf } from './api-key';
import { apiUrlOf } from './api-url';
import { OperatorError } from './invoke';

/** Timeout of a request in ms, longer than API Gateway's own limit. */
const REQUEST_MS = 40_000;

/** The API answered with an error. */
export class ApiError extends OperatorError {
  constructor(
    /** HTTP status of the answer. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The HTTP API, called as a client with an API key calls it. */
export class TenantApi {
  constructor(
    readonly url: string,
    private readonly key: string,
  ) {}

  /** @throws {OperatorError} naming the option that is missing or wrong */
  static of(options: ApiKeyOptions): TenantApi {
    return new TenantApi(apiUrlOf(options), apiKeyOf(options));
  }

  /** @throws {OperatorError} if the server does not answer */
  async fetch(path: string, { headers, ...init }: RequestInit = {}): Promise<Response> {
    return fetch(new URL(path, this.url), {
      ...init,
      headers: { 'x-api-key': this.key, ...headers },
      signal: AbortSignal.timeout(REQUEST_MS),
    }).catch((cause: Error) => {
      const { message } = (cause.cause as Error | undefined) ?? cause;
      throw new OperatorError(`${this.url} cannot be reached: ${message}`, { cause });
    });
  }

  /**
   * Calls a path.
   *
   * @returns the body of the response
   * @throws {OperatorError} with the API's message, an {@link ApiError} if the API answered
   */
  async text(method: string, path: string, body?: string, contentType = 'application/json'): Promise<string> {
    const headers = body === undefined ? {} : { 'content-type': contentType };
    const response = await this.fetch(path, { method, headers, body: body ?? null });
    const text = await response.text();
    if (response.ok) return text;
    throw new ApiError(response.status, `${method} ${path} answers ${response.status}: ${errorOf(text)}`);
  }

  /** Registers a host. @returns its id */
  async createHost(name: string, others: object = {}): Promise<string> {
    return (await this.json<{ id: string }>('POST', '/api/v0/hosts', { name, meta: {}, ...others })).id;
  }

  /** Calls a path with a JSON body, and parses the response. */
  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    return JSON.parse(await this.text(method, path, body === undefined ? undefined : JSON.stringify(body)));
  }
}

function errorOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: string | { message: string } };
    return typeof error === 'string' ? error : (error?.message ?? text);
  } catch {
    return text.slice(0, 1000);
  }
}
