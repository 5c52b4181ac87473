import { setTimeout as sleep } from 'node:timers/promises';
import { type Labels, labelValue, METRIC_NAME } from '../../shared/model/labels';
import type { Ledger, Outcome, Sample } from './ledger';
import { mackerel, type PostRequest, type Sender } from './senders';

/** Longer than API Gateway's own limit. */
const REQUEST_MS = 40_000;
const RETRY_MS = 250;

/** A client of the HTTP API, as agents and dashboards are, which enters every post into a ledger. */
export class ApiClient {
  private readonly hosts = new Set<string>();

  constructor(
    private readonly url: string,
    private readonly apiKey: string,
    private readonly ledger: Ledger,
  ) {}

  async createHost(name: string): Promise<string> {
    const body = JSON.stringify({ name, meta: {} });
    const response = await this.send('POST', '/api/v0/hosts', { 'content-type': 'application/json' }, body);
    if (!response.ok) throw new Error(`cannot create the host ${name}: ${response.status}`);
    const { id } = (await response.json()) as { id: string };
    this.hosts.add(id);
    return id;
  }

  /** Posts once. The answer decides what the ledger expects. */
  async post(samples: readonly Sample[], encode: Sender['encode'] = mackerel): Promise<Outcome> {
    const ended = this.ledger.sending(samples);
    const outcome = await this.outcomeOf(encode(samples));
    ended(outcome);
    return outcome;
  }

  private async outcomeOf({ path, headers, body, isWhole }: PostRequest): Promise<Outcome> {
    try {
      const response = await this.send('POST', path, headers, body);
      const answer = await response.text();
      if (response.status >= 500 || response.status === 429) return 'unknown';
      // Good samples are never refused.
      if (!response.ok || !isWhole(answer))
        throw new UnexpectedAnswerError(`${path} answered good samples with ${response.status} ${answer}`);
      return 'acknowledged';
    } catch (error) {
      if (error instanceof UnexpectedAnswerError) throw error;
      return 'unknown';
    }
  }

  /**
   * Reads a series, a registered host's as Mackerel's clients do; retries while the answer is an error.
   *
   * @param isPatient asked before each further try
   */
  async read(
    labels: Labels,
    from: number,
    to: number,
    isPatient: () => boolean,
  ): Promise<{ time: number; value: number }[]> {
    for (;;) {
      const response = await this.send('GET', this.pathOf(labels, from, to)).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.status === 200 && text !== undefined)
        return (JSON.parse(text) as { metrics: { time: number; value: number }[] }).metrics;
      // No sample has arrived yet, or none was ever acknowledged.
      if (response?.status === 404) return [];
      if (!isPatient())
        throw new Error(`${JSON.stringify(labels)} cannot be read: ${response?.status} ${text}`);
      await sleep(RETRY_MS);
    }
  }

  private pathOf(labels: Labels, from: number, to: number): string {
    const name = labelValue(labels, METRIC_NAME)!;
    const query = new URLSearchParams({ name, from: String(from), to: String(to) });
    const hostId = labelValue(labels, 'host');
    if (hostId !== undefined && this.hosts.has(hostId)) return `/api/v0/hosts/${hostId}/metrics?${query}`;
    for (const [label, value] of labels)
      if (label !== METRIC_NAME) query.append('label', `${label}=${value}`);
    return `/api/v1/series/metrics?${query}`;
  }

  private send(
    method: string,
    path: string,
    headers: PostRequest['headers'] = {},
    body?: PostRequest['body'],
  ): Promise<Response> {
    return fetch(new URL(path, this.url), {
      method,
      headers: { 'x-api-key': this.apiKey, ...headers },
      body,
      signal: AbortSignal.timeout(REQUEST_MS),
    });
  }
}

/** The answer is not one that the API promises. */
class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
}
