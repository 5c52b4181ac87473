import { setTimeout as sleep } from 'node:timers/promises';
import type { Tier } from '../../shared/model/tier';
import { OperatorError } from './invoke';

/** Smoke tests use their own tenant, so that they leave nothing in users' lists and usage. */
export const SMOKE_TENANT = 'smoke';
export const SMOKE_METRIC = 'custom.smoke';

/** Number of samples that a read returned from each tier. */
export type TierCounts = Record<Tier, number>;

export interface SmokeSample {
  readonly hostId: string;
  readonly name: string;
  /** Seconds since epoch. */
  readonly time: number;
  readonly value: number;
}

const LOOK_MS = 250;
const REQUEST_MS = 30_000;

/** The HTTP API, as a client of a smoke test calls it. */
export class SmokeApi {
  constructor(
    readonly url: string,
    private readonly key: string,
  ) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { text } = await this.request(method, path, body);
    return JSON.parse(text) as T;
  }

  /** Reads until the sample is returned. */
  async until({ hostId, name, time, value }: SmokeSample, deadlineMs: number): Promise<TierCounts> {
    // Start a minute earlier, because sample times are rounded down.
    const path = `/api/v0/hosts/${hostId}/metrics?name=${name}&from=${time - 60}&to=${time}`;
    for (;;) {
      let seen: string;
      try {
        const { text, timing } = await this.request('GET', path, undefined, [404]);
        const { metrics = [] } = JSON.parse(text) as { metrics?: { value: number }[] };
        if (metrics.some((sample) => sample.value === value)) return tiersOf(timing);
        seen = text.slice(0, 300);
      } catch (error) {
        // The first read may time out while functions start.
        if (!(error instanceof OperatorError)) throw error;
        seen = error.message;
      }
      if (Date.now() > deadlineMs) throw new OperatorError(`the sample cannot be read: ${seen}`);
      await sleep(LOOK_MS);
    }
  }

  /**
   * @throws {OperatorError} on a status that is neither 2xx nor allowed
   */
  async request(method: string, path: string, body: unknown, allowed: readonly number[] = []) {
    let response: Response;
    try {
      response = await fetch(new URL(path, this.url), {
        method,
        headers: { 'x-api-key': this.key, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
    } catch (cause) {
      throw new OperatorError(`no answer from ${this.url}: ${(cause as Error).message}`, { cause });
    }
    const text = await response.text();
    if (!response.ok && !allowed.includes(response.status))
      throw new OperatorError(`${method} ${path} answers ${response.status}: ${text.slice(0, 300)}`);
    return { text, timing: response.headers.get('server-timing') ?? '' };
  }
}

/** Parses a Server-Timing header: `hot;dur=1.2;desc="3 samples", ...`. */
function tiersOf(timing: string): TierCounts {
  const of = (tier: string) => Number(new RegExp(`${tier};[^,]*desc="(\\d+) samples`).exec(timing)?.[1] ?? 0);
  return { hot: of('hot'), warm: of('warm'), cold: of('cold') };
}
