import { setTimeout as sleep } from 'node:timers/promises';
import type { Ledger, Outcome, Sample } from './ledger';

/** Longer than API Gateway's own limit. */
const REQUEST_MS = 40_000;
const RETRY_MS = 250;

/** A client of the HTTP API, as agents and dashboards are, which enters every post into a ledger. */
export class ApiClient {
  constructor(
    private readonly url: string,
    private readonly apiKey: string,
    private readonly ledger: Ledger,
  ) {}

  async createHost(name: string): Promise<string> {
    const response = await this.send('POST', '/api/v0/hosts', { name, meta: {} });
    if (!response.ok) throw new Error(`cannot create the host ${name}: ${response.status}`);
    return ((await response.json()) as { id: string }).id;
  }

  /** Posts once. The answer decides what the ledger expects. */
  async post(samples: readonly Sample[]): Promise<Outcome> {
    const ended = this.ledger.sending(samples);
    const outcome = await this.outcomeOf(samples);
    ended(outcome);
    return outcome;
  }

  private async outcomeOf(samples: readonly Sample[]): Promise<Outcome> {
    try {
      const response = await this.send('POST', '/api/v0/tsdb', samples);
      const body = (await response.json()) as { success?: boolean; dropped?: object };
      if (response.status !== 200)
        return response.status < 500 && response.status !== 429 ? 'refused' : 'unknown';
      if (body.success !== true || body.dropped !== undefined)
        throw new UnexpectedAnswerError(`good samples were answered with ${JSON.stringify(body)}`);
      return 'acknowledged';
    } catch (error) {
      if (error instanceof UnexpectedAnswerError) throw error;
      return 'unknown';
    }
  }

  /**
   * Reads a metric; retries while the answer is an error.
   *
   * @param isPatient asked before each further try
   */
  async read(
    hostId: string,
    name: string,
    from: number,
    to: number,
    isPatient: () => boolean,
  ): Promise<{ time: number; value: number }[]> {
    for (;;) {
      const query = new URLSearchParams({ name, from: String(from), to: String(to) });
      const response = await this.send('GET', `/api/v0/hosts/${hostId}/metrics?${query}`).catch(
        () => undefined,
      );
      const text = await response?.text().catch(() => undefined);
      if (response?.status === 200 && text !== undefined)
        return (JSON.parse(text) as { metrics: { time: number; value: number }[] }).metrics;
      // No sample has arrived yet, or none was ever acknowledged.
      if (response?.status === 404) return [];
      if (!isPatient()) throw new Error(`${hostId} ${name} cannot be read: ${response?.status} ${text}`);
      await sleep(RETRY_MS);
    }
  }

  private send(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(new URL(path, this.url), {
      method,
      headers: { 'x-api-key': this.apiKey, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
  }
}

/** The answer is not one that the API promises. */
class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
}
