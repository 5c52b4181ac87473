import type { GraphDefinition } from '../graphs/graphs';
import { labelSourceOf } from '../graphs/label-graphs';
import type { FamilyMetadata, Metadata } from '../graphs/metadata';
import { type Labels, parseLabels } from '../view/labels-text';
import { type Span, stepFor } from '../view/time-range';
import type { SourceRef } from '../view/view-state';
import { joinedReading, type Reading } from './reading';
import { parseServerTiming } from './server-timing';
import type { Status } from './status';
import { Turns } from './turns';

/** The error of a failed request. Its message tells the user what to do next. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    /**
     * `key`: the key is not valid. `right`: the key does not permit this. `gone`: the server did not answer.
     * `busy`: try again. `refused`: any other error.
     */
    readonly kind: 'key' | 'right' | 'gone' | 'busy' | 'refused',
    message: string,
    /** HTTP status of the response; 0 if there was none. */
    readonly status = 0,
  ) {
    super(message);
  }
}

/** A host of the API. */
export interface Host {
  readonly id: string;
  readonly name: string;
  readonly displayName?: string | null;
  readonly customIdentifier?: string | null;
  readonly status: string;
  readonly memo?: string;
  readonly roles: Readonly<Record<string, readonly string[]>>;
  readonly isRetired?: boolean;
  /** Unix time in seconds. */
  readonly retiredAt?: number;
  /** Unix time in seconds. */
  readonly createdAt?: number;
  /** Metadata as the agent posted it. */
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly interfaces?: readonly Readonly<Record<string, unknown>>[];
}

export const HOST_STATUSES = ['working', 'standby', 'maintenance', 'poweroff'] as const;
export type HostStatus = (typeof HOST_STATUSES)[number];

/** An annotation of a service's graphs. Times are Unix times in seconds. */
export interface Annotation {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly from: number;
  readonly to: number;
  readonly service: string;
  /** Names of roles; empty if the annotation applies to the whole service. */
  readonly roles: readonly string[];
}

/** Base path of Prometheus' API. */
export const PROMETHEUS_PATH = '/prometheus/api/v1';
/** Base path of Alertmanager's API. */
export const ALERTMANAGER_PATH = '/alertmanager/api/v2';

/** Number of hosts in one page of the list. An agent's host takes up to 10 KB, and a response at most 6 MB. */
const HOSTS_PAGE = 300;
/** Maximum number of sources in the page's list. Further sources can be found by their labels. */
const MAX_SOURCES = 20_000;
/** Time-out of requests for lists, in ms. */
const LIST_TIMEOUT_MS = 10_000;
/** Time-out of reads, in ms. API Gateway answers within 30 s, and the body may take some time more. */
const READ_TIMEOUT_MS = 40_000;
const METADATA_MAX_AGE_MS = 60_000;
/**
 * Maximum number of concurrent requests. The browser would delay further requests, and they would time out while they
 * wait.
 */
const PARALLEL = 6;

/** Client of the API, with an API key. It calls the server from which the page was loaded. */
export class Api {
  private readonly turns = new Turns(PARALLEL);
  private knownMetadata: { readonly atMs: number; readonly found: Promise<Metadata> } | undefined;

  constructor(private readonly key: string) {}

  /** Reads all hosts that are not retired. */
  async hosts(): Promise<Host[]> {
    const statuses = HOST_STATUSES.map((status) => `status=${status}`).join('&');
    const found: Host[] = [];
    let next: string | undefined;
    do {
      const page: { hosts: Host[]; nextId?: string } = await this.json(
        `/api/v0/hosts?${statuses}&limit=${HOSTS_PAGE}${next === undefined ? '' : `&nextId=${next}`}`,
      );
      found.push(...page.hosts);
      next = page.nextId;
    } while (next !== undefined);
    return found;
  }

  /** Reads a host, retired or not; undefined if the id does not exist. */
  host(id: string): Promise<Host | undefined> {
    return this.json<{ host: Host }>(`/api/v0/hosts/${encodeURIComponent(id)}`).then(
      ({ host }) => host,
      (error: ApiError) => {
        if (error.status === 404) return undefined;
        throw error;
      },
    );
  }

  /** @throws {ApiError} of kind `right` if the key may not write */
  async setStatus(hostId: string, status: HostStatus): Promise<void> {
    await this.json(`/api/v0/hosts/${encodeURIComponent(hostId)}/status`, { status });
  }

  /** @throws {ApiError} of kind `right` if the key may not write */
  async retire(hostId: string): Promise<void> {
    await this.json(`/api/v0/hosts/${encodeURIComponent(hostId)}/retire`, {});
  }

  async services(): Promise<string[]> {
    const { services } = await this.json<{ services: { name: string }[] }>('/api/v0/services');
    return services.map(({ name }) => name);
  }

  /** @param source a host or a service */
  async metricNames(source: SourceRef): Promise<string[]> {
    return (await this.json<{ names: string[] }>(`/api/v0/${sourcePath(source)}/metric-names`)).names;
  }

  /** Reads the labels of each source that has posted, up to {@link MAX_SOURCES} sources. */
  async sources(): Promise<Labels[]> {
    const found: Labels[] = [];
    let next: string | undefined;
    do {
      const page: { series: Record<string, string>[]; next?: string } = await this.json(
        `/api/v1/series?perSource=1${next === undefined ? '' : `&next=${next}`}`,
      );
      for (const labels of page.series) found.push(labelSourceOf(Object.entries(labels)));
      next = page.next;
    } while (next !== undefined && found.length < MAX_SOURCES);
    return found;
  }

  /** Reads all series of the source with these labels. */
  async seriesOf(source: Labels): Promise<Labels[]> {
    const query = new URLSearchParams();
    for (const [name, value] of source) query.append('label', `${name}=${value}`);
    const { series } = await this.json<{ series: Record<string, string>[] }>(`/api/v1/series?${query}`);
    return series.map((labels) => Object.entries(labels));
  }

  async graphDefinitions(): Promise<GraphDefinition[]> {
    const path = '/api/v1/graph-definitions';
    return (await this.json<{ graphDefinitions: GraphDefinition[] }>(path)).graphDefinitions;
  }

  /** Reads the metadata of metrics, at most once a minute. */
  metadata(): Promise<Metadata> {
    const nowMs = Date.now();
    if (this.knownMetadata === undefined || nowMs - this.knownMetadata.atMs > METADATA_MAX_AGE_MS) {
      const read = this.json<PrometheusResponse<Record<string, FamilyMetadata[]>>>(
        `${PROMETHEUS_PATH}/metadata`,
      );
      const found = read.then(
        ({ data }) => new Map(Object.entries(data).map(([family, [first]]) => [family, first!])),
      );
      found.catch(() => {
        this.knownMetadata = undefined;
      });
      this.knownMetadata = { atMs: nowMs, found };
    }
    return this.knownMetadata.found;
  }

  async annotations(service: string, { fromS, toS }: Span): Promise<Annotation[]> {
    const query = new URLSearchParams({
      service,
      from: String(Math.floor(fromS)),
      to: String(Math.ceil(toS)),
    });
    const path = `/api/v0/graph-annotations?${query}`;
    return (await this.json<{ graphAnnotations: Annotation[] }>(path)).graphAnnotations;
  }

  /**
   * Calls a path below `/prometheus/api/v1`. If samples are missing, the response's warnings say so.
   *
   * @throws {ApiError}
   */
  async prometheus<T>(path: string, fields: Record<string, string>, signal: AbortSignal) {
    const query = new URLSearchParams(fields);
    const { body, tiers, durationMs } = await this.timed<PrometheusResponse<T>>(
      `${PROMETHEUS_PATH}/${path}?${query}`,
      signal,
    );
    return {
      data: body.data,
      warnings: [...(body.warnings ?? []), ...(body.infos ?? [])],
      tiers,
      durationMs,
    };
  }

  /** A `fetch` that uses this key, for a library that calls Prometheus' API. */
  readonly fetchAsPrometheus: typeof fetch = (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('x-api-key', this.key);
    return fetch(input, { ...init, headers, cache: 'no-store', credentials: 'omit' });
  };

  status(): Promise<Status> {
    return this.json<Status>('/api/v1/status');
  }

  /**
   * Reads metrics of one source.
   *
   * @param source a host, a service or labels
   * @param names from 1 to 100 metric names
   */
  read(source: SourceRef, names: readonly string[], span: Span, signal: AbortSignal): Promise<Reading> {
    return source.kind === 'labels'
      ? this.readByLabels(source, names, span, signal)
      : this.readTable(source, names, span, signal);
  }

  private async readTable(
    source: SourceRef,
    names: readonly string[],
    span: Span,
    signal: AbortSignal,
  ): Promise<Reading> {
    const query = rangeQuery(span);
    for (const name of names) query.append('name', name);
    const response = await this.timed<TableResponse>(
      `/api/v1/${sourcePath(source)}/metrics?${query}`,
      signal,
    );
    const { times, series, missing } = response.body;
    const byName = new Map(series.map(({ name, values }) => [name, values]));
    return {
      ...response,
      times: times.map((ms) => ms / 1000),
      values: names.map((name) => byName.get(name) ?? new Array(times.length).fill(null)),
      isIncomplete: missing !== undefined,
    };
  }

  /** Reads series of a source given by labels, one at a time, since the API reads only one such series per request. */
  private async readByLabels(
    { id }: SourceRef,
    names: readonly string[],
    span: Span,
    signal: AbortSignal,
  ): Promise<Reading> {
    const query = rangeQuery(span);
    for (const [name, value] of parseLabels(id)) query.append('label', `${name}=${value}`);
    const readings = names.map(async (name) => {
      const path = `/api/v1/series/metrics?${query}&name=${encodeURIComponent(name)}`;
      const response = await this.timed<SamplesResponse>(path, signal);
      const { metrics, missing } = response.body;
      return {
        ...response,
        times: metrics.map(({ time }) => time),
        values: [metrics.map(({ value }) => value)],
        isIncomplete: missing !== undefined,
      };
    });
    return joinedReading(await Promise.all(readings));
  }

  /** Reads samples, with the time-out for reads. */
  private timed<T>(path: string, signal: AbortSignal) {
    return this.turns.take(async () => {
      const began = performance.now();
      const limited = AbortSignal.any([signal, AbortSignal.timeout(READ_TIMEOUT_MS)]);
      const { body, headers } = await this.fetch<T>(path, limited);
      const tiers = parseServerTiming(headers.get('server-timing') ?? '');
      return { body, tiers, durationMs: performance.now() - began };
    });
  }

  /**
   * Calls a path whose response is small.
   *
   * @param posted body of a POST; without it, the method is GET
   * @throws {ApiError}
   */
  json<T>(path: string, posted?: object, timeoutMs = LIST_TIMEOUT_MS): Promise<T> {
    const change = posted === undefined ? undefined : ({ method: 'POST', body: posted } as const);
    return this.turns.take(
      async () => (await this.fetch<T>(path, AbortSignal.timeout(timeoutMs), change)).body,
    );
  }

  /**
   * Replaces an object.
   *
   * @param etag version to replace. @default any version
   * @throws {ApiError} with status 412 if the stored object has another version
   */
  put<T>(path: string, body: object, etag?: string): Promise<T> {
    const change = { method: 'PUT', body, ...(etag !== undefined && { etag }) } as const;
    return this.turns.take(
      async () => (await this.fetch<T>(path, AbortSignal.timeout(LIST_TIMEOUT_MS), change)).body,
    );
  }

  /** @throws {ApiError} */
  async delete(path: string): Promise<void> {
    await this.turns.take(() => this.fetch(path, AbortSignal.timeout(LIST_TIMEOUT_MS), { method: 'DELETE' }));
  }

  /** @throws {ApiError} unless the caller aborted `signal` */
  private async fetch<T>(path: string, signal: AbortSignal, change?: Change) {
    const posted = change?.body;
    try {
      const response = await fetch(path, {
        method: change?.method ?? 'GET',
        headers: {
          'x-api-key': this.key,
          ...(posted === undefined ? {} : { 'content-type': 'application/json' }),
          ...(change?.etag === undefined ? {} : { 'if-match': change.etag }),
        },
        ...(posted === undefined ? {} : { body: JSON.stringify(posted) }),
        cache: 'no-store',
        credentials: 'omit',
        signal,
      });
      if (!response.ok) throw await errorOf(response, change === undefined ? 'read' : 'write');
      // The response to a DELETE may be empty, and is not needed.
      const body = change?.method === 'DELETE' ? undefined : await response.json();
      return { body: body as T, headers: response.headers };
    } catch (error) {
      if (error instanceof ApiError || (error as Error).name === 'AbortError') throw error;
      // There was no connection, a time-out, or an incomplete response.
      throw new ApiError('gone', 'The server does not answer.');
    }
  }
}

/** A request that changes data. */
type Change =
  | { readonly method: 'POST' | 'PUT'; readonly body: object; readonly etag?: string }
  | { readonly method: 'DELETE'; readonly body?: never; readonly etag?: never };

export interface PrometheusResponse<T> {
  readonly data: T;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
}

interface TableResponse {
  readonly times: readonly number[];
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
  readonly missing?: object;
}

interface SamplesResponse {
  readonly metrics: readonly { readonly time: number; readonly value: number | null }[];
  readonly missing?: object;
}

function sourcePath({ kind, id }: SourceRef): string {
  return `${kind}s/${encodeURIComponent(id)}`;
}

function rangeQuery(span: Span): URLSearchParams {
  const step = stepFor(span);
  return new URLSearchParams({
    from: String(Math.floor(span.fromS)),
    to: String(Math.ceil(span.toS)),
    partial: 'true',
    ...(step === undefined ? {} : { step: String(step) }),
  });
}

async function errorOf(response: Response, right: 'read' | 'write'): Promise<ApiError> {
  const { status } = response;
  const message = await messageOf(response);
  if (status === 401)
    return new ApiError(
      'key',
      'The server does not know this key. It may be mistyped, revoked or expired.',
      status,
    );
  if (status === 403)
    return new ApiError('right', `This key lacks the ${right} right. Sign in with one that has it.`, status);
  return new ApiError(status === 429 || status >= 500 ? 'busy' : 'refused', message, status);
}

async function messageOf(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as string | { error: string | { message: string } };
    // Alertmanager's API returns only a message, Prometheus' API a message and a type.
    if (typeof body === 'string') return body;
    const { error } = body;
    return typeof error === 'string' ? error : error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}
