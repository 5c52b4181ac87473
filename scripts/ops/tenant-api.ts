import { type ApiKeyOptions, apiKeyOf } from './api-key';
import { apiUrlOf } from './api-url';
import { OperatorError } from './invoke';

/** The HTTP API as a client with an API key calls it. */
export class TenantApi {
  private readonly url: string;
  private readonly key: string;

  /** @throws {OperatorError} naming the option that is missing or wrong */
  constructor(options: ApiKeyOptions) {
    this.url = apiUrlOf(options);
    this.key = apiKeyOf(options);
  }

  /**
   * Calls a path.
   *
   * @returns the body of the answer
   * @throws {OperatorError} with the API's message
   */
  async call(method: string, path: string, body?: string, contentType = 'application/json'): Promise<string> {
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: { 'x-api-key': this.key, ...(body && { 'content-type': contentType }) },
      body: body ?? null,
    }).catch((error: Error) => {
      const cause = (error.cause as Error | undefined)?.message ?? error.message;
      throw new OperatorError(`${this.url} cannot be reached: ${cause}`);
    });
    const text = await response.text();
    if (response.ok) return text;
    throw new OperatorError(`${method} ${path}: ${response.status} ${errorOf(text)}`);
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
