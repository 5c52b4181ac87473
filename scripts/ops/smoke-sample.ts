import { setTimeout as sleep } from 'node:timers/promises';
import type { Tier } from '../../shared/model/tier';
import { OperatorError, retried } from './invoke';
import { ApiError, type TenantApi } from './tenant-api';

/** Smoke tests use a tenant of their own, so that they leave nothing in users' lists and usage. */
export const SMOKE_TENANT = 'smoke';
export const SMOKE_METRIC = 'custom.smoke';

/** Number of samples that a read returned from each tier. */
export type TierCounts = Record<Tier, number>;

export interface SmokeSample {
  readonly hostId: string;
  readonly name: string;
  /** Unix time in seconds. */
  readonly time: number;
  readonly value: number;
}

const LOOK_MS = 250;

/** Repeats a request that is answered with 503, as agents do. */
export function untilAnswered<T>(request: () => Promise<T>): Promise<T> {
  return retried(request, (error) => error instanceof ApiError && error.status === 503);
}

/** Reads until the sample is returned. */
export async function untilRead(
  api: TenantApi,
  { hostId, name, time, value }: SmokeSample,
  deadlineMs: number,
): Promise<TierCounts> {
  // Start a minute earlier, because the times of samples are rounded down.
  const path = `/api/v0/hosts/${hostId}/metrics?name=${name}&from=${time - 60}&to=${time}`;
  for (;;) {
    let seen: string;
    try {
      const response = await api.fetch(path);
      const text = await response.text();
      const { metrics } = response.ok
        ? (JSON.parse(text) as { metrics: { value: number }[] })
        : { metrics: [] };
      if (metrics.some((sample) => sample.value === value))
        return tiersOf(response.headers.get('server-timing') ?? '');
      seen = `${response.status} ${text.slice(0, 300)}`;
    } catch (error) {
      // The first read may time out while functions start.
      if (!(error instanceof OperatorError)) throw error;
      seen = error.message;
    }
    if (Date.now() > deadlineMs) throw new OperatorError(`the sample cannot be read: ${seen}`);
    await sleep(LOOK_MS);
  }
}

/** Parses a Server-Timing header: `hot;dur=1.2;desc="3 samples", ...`. */
function tiersOf(timing: string): TierCounts {
  const of = (tier: string) => Number(new RegExp(`${tier};[^,]*desc="(\\d+) samples`).exec(timing)?.[1] ?? 0);
  return { hot: of('hot'), warm: of('warm'), cold: of('cold') };
}
