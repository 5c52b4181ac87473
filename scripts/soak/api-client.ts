import { setTimeout as sleep } from 'node:timers/promises';
import type { Aggregate } from '../../shared/model/aggregates';
import { type Labels, labelValue, METRIC_NAME } from '../../shared/model/labels';
import { ENCODINGS, type PostRequest } from './encodings';
import type { Ledger, Outcome, Sample } from './ledger';
import type { Point } from './steps';

/** Timeout of a request, longer than API Gateway's own limit. */
const REQUEST_MS = 40_000;
const RETRY_MS = 250;
/** Part of the `Server-Timing` header. */
const ROLLED_DAYS = /rollup;desc="(\d+) days"/;

/** An answer in steps, and the number of days answered from rollups. */
export interface SteppedAnswer {
  readonly points: readonly Point[];
  readonly rolledDays: number;
}

/** A client of the HTTP API, as agents and dashboards are. It records every post in a ledger. */
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

  /** Posts once. The ledger's expectation depends on the answer. */
  async post(
    samples: readonly Sample[],
    encode: (samples: readonly Sample[]) => PostRequest = ENCODINGS.mackerel,
  ): Promise<Outcome> {
    const ended = this.ledger.sending(samples);
    const outcome = await this.tryPost(samples, encode);
    ended(outcome);
    return outcome;
  }

  /** Posts once without recording it in the ledger. */
  tryPost(samples: readonly Sample[], encode: (samples: readonly Sample[]) => PostRequest): Promise<Outcome> {
    return this.outcomeOf(encode(samples));
  }

  /**
   * Sends a request that changes something other than samples.
   *
   * @returns the status; 0 without an answer
   */
  async change(method: string, path: string, body?: object): Promise<number> {
    const headers = { 'content-type': 'application/json' };
    const response = await this.send(method, path, headers, body && JSON.stringify(body)).catch(
      () => undefined,
    );
    await response?.text().catch(() => undefined);
    return response?.status ?? 0;
  }

  private async outcomeOf({ path, headers, body, isWhole }: PostRequest): Promise<Outcome> {
    try {
      const response = await this.send('POST', path, headers, body);
      const answer = Buffer.from(await response.arrayBuffer());
      if (response.status >= 500 || response.status === 429) return 'unknown';
      // The API must never refuse valid samples.
      if (!response.ok || !isWhole(answer))
        throw new UnexpectedAnswerError(`${path} answered good samples with ${response.status} ${answer}`);
      return 'acknowledged';
    } catch (error) {
      if (error instanceof UnexpectedAnswerError) throw error;
      return 'unknown';
    }
  }

  /**
   * Reads a series, using Mackerel's API for registered hosts. Retries while the answer is an error.
   *
   * @param isPatient asked before each retry
   */
  async read(labels: Labels, from: number, to: number, isPatient: () => boolean): Promise<Point[]> {
    return (await this.get(labels, { from, to }, isPatient)).points;
  }

  /** Reads a series in steps. */
  readSteps(
    labels: Labels,
    asked: {
      readonly from: number;
      readonly to: number;
      readonly step: number;
      readonly aggregate: Aggregate;
    },
    isPatient: () => boolean,
  ): Promise<SteppedAnswer> {
    return this.get(labels, asked, isPatient);
  }

  private async get(
    labels: Labels,
    asked: Readonly<Record<string, string | number>>,
    isPatient: () => boolean,
  ): Promise<{ points: Point[]; rolledDays: number }> {
    for (;;) {
      const response = await this.send('GET', this.pathOf(labels, asked)).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (response?.status === 200 && text !== undefined)
        return {
          points: (JSON.parse(text) as { metrics: Point[] }).metrics,
          rolledDays: Number(ROLLED_DAYS.exec(response.headers.get('server-timing') ?? '')?.[1] ?? 0),
        };
      // No sample has arrived yet, or none was acknowledged.
      if (response?.status === 404) return { points: [], rolledDays: 0 };
      if (!isPatient())
        throw new Error(`${JSON.stringify(labels)} cannot be read: ${response?.status} ${text}`);
      await sleep(RETRY_MS);
    }
  }

  private pathOf(labels: Labels, asked: Readonly<Record<string, string | number>>): string {
    const query = new URLSearchParams({ name: labelValue(labels, METRIC_NAME)! });
    for (const [name, value] of Object.entries(asked)) query.set(name, String(value));
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

/** The API broke its promise. */
class UnexpectedAnswerError extends Error {
  override readonly name = 'UnexpectedAnswerError';
}
