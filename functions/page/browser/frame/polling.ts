import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/api';

/** Time between requests to a server that does not answer, in seconds. */
export const RETRY_S = 5;
/** Interval at which the page looks for new hosts, services and metrics, in ms. */
const EVERY_MS = 15_000;
/** The same interval while nothing has been found yet, in ms. */
const EMPTY_MS = 3_000;
/** Maximum share of the time that may be spent reading a list. A list that takes long to read is read less often. */
const MAX_SHARE = 1 / 20;

export type OnSettled = (error: ApiError | undefined) => void;

/**
 * Returns the current Unix time in seconds. Updates it every `everyS` seconds while the page is visible, or
 * never if `everyS` is 0.
 */
export function useNow(everyS: number): number {
  const [nowS, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (everyS === 0) return;
    const look = () => document.hidden || setNow(Date.now() / 1000);
    look();
    const timer = setInterval(look, everyS * 1000);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [everyS]);
  return nowS;
}

/**
 * Reads data now, whenever one of `inputs` changes, and periodically while the page is visible.
 *
 * @param onFound returns whether anything was found; if not, or after a failure, the next read is sooner
 * @param everyMs default: 15 s
 */
export function usePolling<T>(
  inputs: readonly unknown[],
  read: () => Promise<T>,
  onFound: (found: T) => boolean,
  onSettled: OnSettled,
  everyMs = EVERY_MS,
): void {
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const look = async () => {
      let againMs = everyMs;
      try {
        if (!document.hidden) {
          const began = performance.now();
          const found = await read();
          if (isOver) return;
          const tookMs = performance.now() - began;
          againMs = onFound(found) ? Math.max(everyMs, tookMs / MAX_SHARE) : Math.min(everyMs, EMPTY_MS);
          onSettled(undefined);
        }
      } catch (error) {
        if (isOver) return;
        againMs = RETRY_S * 1000;
        onSettled(error instanceof ApiError ? error : new ApiError('refused', String(error)));
      }
      timer = setTimeout(look, againMs);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [...inputs]);
}
