import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/api';

/** How often the page asks a server that did not answer. */
export const RETRY_S = 5;
/** How often the page looks for new hosts, services and metrics. */
const EVERY_MS = 15_000;
/** The same while it has found none. */
const EMPTY_MS = 3_000;
/** A long list is read less often: it takes at most this share of the time. */
const MAX_SHARE = 1 / 20;

export type OnAnswer = (error: ApiError | undefined) => void;

/** The present, in seconds since epoch; renewed every `everyS` seconds while the page is visible, never if that is 0. */
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
 * Reads something now, whenever one of `inputs` changes, and again at intervals while the page is visible.
 *
 * @param onFound returns whether anything was found; if not, or after a failure, the next read comes sooner
 * @param everyMs 15 s unless given
 */
export function usePolling<T>(
  inputs: readonly unknown[],
  read: () => Promise<T>,
  onFound: (found: T) => boolean,
  onAnswer: OnAnswer,
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
          onAnswer(undefined);
        }
      } catch (error) {
        if (isOver) return;
        againMs = RETRY_S * 1000;
        onAnswer(error instanceof ApiError ? error : new ApiError('refused', String(error)));
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
