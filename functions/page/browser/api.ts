import type { GraphDefinition } from './graphs';
import type { SeriesData } from './plot-data';
import { parseServerTiming, type TierShare } from './server-timing';
import { type Span, stepFor } from './time-range';
import type { SourceRef } from './view-state';

/** Why there is no answer, in words of what to do next. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    /** `key`: it is not valid. `right`: it may not read. `gone`: nobody answers. `busy`: again later. `refused`: anything else. */
    readonly kind: 'key' | 'right' | 'gone' | 'busy' | 'refused',
    message: string,
  ) {
    super(message);
  }
}

export interface Host {
  readonly id: string;
  readonly name: string;
  readonly displayName?: string | null;
  readonly status: string;
  readonly roles: Readonly<Record<string, readonly string[]>>;
}

/** What `GET /api/v1/status` answers; the server's `shared/status` has what each field means. Durations in ms. */
export interface Status {
  readonly atMs: number;
  readonly stream: { readonly behindMs: number | null };
  readonly flush: {
    readonly windows: number;
    readonly oldestMs: number | null;
    readonly residencyMs: number;
    readonly behindMs: number;
  };
  readonly archive: {
    readonly days: number;
    readonly openDays: number;
    readonly behindMs: number;
    readonly samples: number;
    readonly bytes: number;
  } | null;
  /** Of the month so far. */
  readonly usage: {
    readonly samples: number;
    readonly series: { readonly active: number; readonly stored: number };
    readonly bytes: { readonly hot: number | null; readonly warm: number; readonly cold: number | null };
    readonly dollars: number;
    readonly cost: readonly { readonly what: string; readonly because: string; readonly dollars: number }[];
  };
}

/** The series of a graph, in the order in which they were asked for, and how they came. */
export interface Reading extends SeriesData {
  readonly tiers: readonly TierShare[];
  /** Round trip, as the page saw it. */
  readonly durationMs: number;
  /** Whether memory lost samples that are still being read again from the stream. */
  readonly isIncomplete: boolean;
}

/** The API of the server that the page came from, with a key. */
export class Api {
  constructor(private readonly key: string) {}

  async hosts(): Promise<Host[]> {
    const path = '/api/v0/hosts?status=working&status=standby&status=maintenance&status=poweroff';
    return (await this.json<{ hosts: Host[] }>(path)).hosts;
  }

  async services(): Promise<string[]> {
    const { services } = await this.json<{ services: { name: string }[] }>('/api/v0/services');
    return services.map(({ name }) => name);
  }

  async metricNames(source: SourceRef): Promise<string[]> {
    return (await this.json<{ names: string[] }>(`/api/v0/${sourcePath(source)}/metric-names`)).names;
  }

  async graphDefinitions(): Promise<GraphDefinition[]> {
    const path = '/api/v1/graph-definitions';
    return (await this.json<{ graphDefinitions: GraphDefinition[] }>(path)).graphDefinitions;
  }

  status(): Promise<Status> {
    return this.json<Status>('/api/v1/status');
  }

  /** @param names 1 to 100 metrics */
  async read(
    source: SourceRef,
    names: readonly string[],
    { fromS, toS }: Span,
    signal: AbortSignal,
  ): Promise<Reading> {
    const query = new URLSearchParams({
      from: String(Math.floor(fromS)),
      to: String(Math.ceil(toS)),
      partial: 'true',
    });
    for (const name of names) query.append('name', name);
    const step = stepFor({ fromS, toS });
    if (step !== undefined) query.set('step', String(step));
    const began = performance.now();
    const response = await this.get(`/api/v1/${sourcePath(source)}/metrics?${query}`, signal);
    const body = (await response.json()) as {
      times: number[];
      series: { name: string; values: (number | null)[] }[];
      missing?: object;
    };
    const durationMs = performance.now() - began;
    const byName = new Map(body.series.map(({ name, values }) => [name, values]));
    return {
      times: body.times.map((ms) => ms / 1000),
      values: names.map((name) => byName.get(name) ?? new Array(body.times.length).fill(null)),
      tiers: parseServerTiming(response.headers.get('server-timing') ?? ''),
      durationMs,
      isIncomplete: body.missing !== undefined,
    };
  }

  private async json<T>(path: string): Promise<T> {
    return (await (await this.get(path)).json()) as T;
  }

  private async get(path: string, signal?: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await fetch(path, {
        headers: { 'x-api-key': this.key },
        cache: 'no-store',
        credentials: 'omit',
        signal: signal ?? null,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError('gone', 'The server does not answer.');
    }
    if (response.ok) return response;
    const message = await messageOf(response);
    switch (response.status) {
      case 401:
        throw new ApiError(
          'key',
          'This key is not known here. It may have been mistyped, revoked or expired.',
        );
      case 403:
        throw new ApiError('right', 'This key may only write. Sign in with one that has the read right.');
      case 429:
      case 500:
      case 502:
      case 503:
      case 504:
        throw new ApiError('busy', message);
      default:
        throw new ApiError('refused', message);
    }
  }
}

function sourcePath({ kind, id }: SourceRef): string {
  return `${kind}s/${encodeURIComponent(id)}`;
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string } };
    return error.message;
  } catch {
    return `the server answered ${response.status}`;
  }
}
