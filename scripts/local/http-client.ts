interface Answer {
  readonly status: number;
  readonly text: string;
}

/** HTTP API client of a tenant. */
export class HttpClient {
  constructor(
    private readonly url: string,
    private readonly apiKey: string,
  ) {}

  /**
   * @param type content type of the body
   */
  async send(
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
    type = 'application/json',
  ): Promise<Answer> {
    const headers = { 'x-api-key': this.apiKey, 'content-type': type };
    const method = body === undefined ? 'GET' : 'POST';
    const response = await fetch(`${this.url}${path}`, { method, headers, body });
    return { status: response.status, text: await response.text() };
  }

  /**
   * @throws unless the answer is a success
   */
  async mustSend(...request: Parameters<HttpClient['send']>): Promise<string> {
    const { status, text } = await this.send(...request);
    if (status >= 300)
      throw new Error(`${request[0].slice(0, 200)} was answered ${status} ${text.slice(0, 500)}`);
    return text;
  }

  /** Registers a host. @returns its id */
  async createHost(name: string): Promise<string> {
    const answer = await this.mustSend('/api/v0/hosts', JSON.stringify({ name, meta: {} }));
    return (JSON.parse(answer) as { id: string }).id;
  }
}
