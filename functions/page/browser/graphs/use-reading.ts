import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/api';
import type { Span, TimeRange } from '../view/time-range';

/** Time in ms after which a graph that could not be read is read again, even if its range does not change. */
const RETRY_MS = 5_000;

export interface ReadingState<T> {
  readonly reading?: T;
  /** The same data from `compareS` seconds earlier. */
  readonly earlier?: T;
  readonly error?: string;
}

export interface ReadingProps {
  readonly range: TimeRange;
  /** The range, computed for the current time. A new object causes another read. */
  readonly span: Span;
  readonly compareS: number | undefined;
  /** Number of times that the server has become reachable again. Each time, reads in progress are abandoned. */
  readonly returns: number;
  readonly onSettled: (error: ApiError | undefined) => void;
}

/**
 * Reads data while `isWanted`, and again for each new span or subject.
 *
 * @param subject identifies the data; a new one aborts the read in progress
 * @param read reads the subject for a span
 */
export function useReading<T>(
  { range, span, compareS, returns, onSettled }: ReadingProps,
  subject: unknown,
  read: (span: Span, signal: AbortSignal) => Promise<T>,
  isWanted: boolean,
): ReadingState<T> {
  const [state, setState] = useState<ReadingState<T>>({});
  const flight = useRef<{ readonly what: unknown; readonly abort: AbortController } | undefined>(undefined);
  const [attempt, setAttempt] = useState(0);
  const what = useStable([range, compareS, subject, returns]);
  useEffect(() => {
    if (!isWanted) return;
    // The same read is already in progress: wait for it. Any other read in progress is aborted.
    if (flight.current?.what === what) return;
    flight.current?.abort.abort();
    const mine = { what, abort: new AbortController() };
    flight.current = mine;
    const landed = () => {
      if (flight.current === mine) flight.current = undefined;
      return !mine.abort.signal.aborted;
    };
    const readAt = (earlierS: number) =>
      read({ fromS: span.fromS - earlierS, toS: span.toS - earlierS }, mine.abort.signal);
    Promise.all([readAt(0), compareS === undefined ? undefined : readAt(compareS)]).then(
      ([reading, earlier]) => {
        if (!landed()) return;
        setState(earlier === undefined ? { reading } : { reading, earlier });
        onSettled(undefined);
      },
      (reason: Error) => {
        if (!landed()) return;
        mine.abort.abort();
        setState((old) => ({ ...old, error: reason.message }));
        // Do not retry a refused request: it would be refused again.
        if (!(reason instanceof ApiError && reason.kind === 'refused'))
          setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
        onSettled(reason instanceof ApiError ? reason : undefined);
      },
    );
  }, [isWanted, what, span, attempt]);
  useEffect(() => () => flight.current?.abort.abort(), []);
  return state;
}

/** Returns the same array object while its entries are equal. */
function useStable(entries: readonly unknown[]): readonly unknown[] {
  const kept = useRef(entries);
  if (entries.some((entry, i) => entry !== kept.current[i])) kept.current = entries;
  return kept.current;
}
