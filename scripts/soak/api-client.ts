import { setTimeout as sleep } from 'node:timers/promises';
import { type Labels, labelValue, METRIC_NAME } from '../../shared/model/labels';
import { TenantApi } from '../ops/tenant-api';
import { ENCODINGS, type PostRequest } from './encodings';
import type { Ledger, Outcome, Sample } from './ledger';

const RETRY_MS = 250;

/** A sample as the API returns it. `time` is in seconds. */
interface Point {
  readonly time: number;
  readonly value: number;
}

/** A client of the HTTP API that behaves like agents and dashboards. It records every post in a ledger. */
export class ApiClient {
  private readonly hosts = new Set<string>();
  private readonly api: TenantApi;

  constructor(
    url: string,
    apiKey: string,
    private readonly ledger: Ledger,
  ) {
    this.api = new TenantApi(url, apiKey);
  }

  async createHost(name: string): Promise<string> {
    const id = await this.api.createHost(name);
    this.hosts.add(id);
    return id;
  }

  /** Posts once. The response decides what the ledger then expects. */
  async post(
    samples: readonly Sample[],
    encode: (samples: readonly Sample[]) => PostRequest = ENCODINGS.mackerel,
  ): Promise<Outcome> {
    const ended = this.ledger.sending(samples);
    const outcome = await this.outcomeOf(encode(samples));
    ended(outcome);
    return outcome;
  }

  private async outcomeOf({ path, headers, body, isWhole }: PostRequest): Promise<Outcome> {
    try {
      const response = await this.api.fetch(path, { method: 'POST', headers, body });
      const received = Buffer.from(await response.arrayBuffer());
      if (response.status >= 500 || response.status === 429) return 'unknown';
      // The API must never refuse valid samples.
      if (!response.ok || !isWhole(received))
        throw new UnexpectedResponseError(
          `${path} answered good samples with ${response.status} ${received}`,
        );
      return 'acknowledged';
    } catch (error) {
      if (error instanceof UnexpectedResponseError) throw error;
      return 'unknown';
    }
  }

  /**
   * Reads a series, using Mackerel's API for registered hosts. Retries while the response is an error.
   *
   * @param isPatient called before each retry; says whether to retry
   */
  async read(labels: Labels, from: number, to: number, isPatient: () => boolean): Promise<Point[]> {
    for (;;) {
      const response = await this.api.fetch(this.pathOf(labels, from, to)).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.status === 200 && text !== undefined)
        return (JSON.parse(text) as { metrics: Point[] }).metrics;
      // No sample has arrived yet, or no sample was acknowledged.
      if (response?.status === 404) return [];
      if (!isPatient())
        throw new Error(`${JSON.stringify(labels)} cannot be read: ${response?.status} ${text}`);
      await sleep(RETRY_MS);
    }
  }

  private pathOf(labels: Labels, from: number, to: number): string {
    const query = new URLSearchParams({
      name: labelValue(labels, METRIC_NAME)!,
      from: String(from),
      to: String(to),
    });
    const hostId = labelValue(labels, 'host');
    if (hostId !== undefined && this.hosts.has(hostId)) return `/api/v0/hosts/${hostId}/metrics?${query}`;
    for (const [label, value] of labels)
      if (label !== METRIC_NAME) query.append('label', `${label}=${value}`);
    return `/api/v1/series/metrics?${query}`;
  }
}

/** The response violates the API's contract. */
class UnexpectedResponseError extends Error {
  override readonly name = 'UnexpectedAnswerError';
}
