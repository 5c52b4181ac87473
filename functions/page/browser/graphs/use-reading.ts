import { useEffect, useRef, useState } from 'preact/hooks';
import { type Api, ApiError } from '../api/api';
import { type Reading, readSeries } from '../api/reading';
import type { Span, TimeRange } from '../view/time-range';
import type { Line } from './graphs';

/** After a failure a graph is read again, even if its range does not move. */
const RETRY_MS = 5_000;

export interface ReadingState {
  readonly reading?: Reading;
  /** The same series, `compareS` earlier. */
  readonly earlier?: Reading;
  readonly error?: string;
}

export interface ReadingProps {
  readonly api: Api;
  readonly range: TimeRange;
  /** The range as it is now; a new object asks for another read. */
  readonly span: Span;
  readonly compareS: number | undefined;
  /** How often the server came back after it was gone: reads that were under way then are given up. */
  readonly returns: number;
  readonly onAnswer: (error: ApiError | undefined) => void;
}

/** Reads the samples of lines while they are wanted, and again with each new span. */
export function useReading(
  { api, range, span, compareS, returns, onAnswer }: ReadingProps,
  lines: readonly Line[],
  isWanted: boolean,
): ReadingState {
  const [state, setState] = useState<ReadingState>({});
  const flight = useRef<{ readonly what: unknown; readonly abort: AbortController } | undefined>(undefined);
  const [attempt, setAttempt] = useState(0);
  const what = useStable([range, compareS, lines, returns]);
  useEffect(() => {
    if (!isWanted) return;
    // A range that follows the present waits for the answer under way. Another range does not.
    if (flight.current?.what === what) return;
    flight.current?.abort.abort();
    const mine = { what, abort: new AbortController() };
    flight.current = mine;
    const landed = () => {
      if (flight.current === mine) flight.current = undefined;
      return !mine.abort.signal.aborted;
    };
    const read = (earlierS: number) =>
      readSeries(api, lines, { fromS: span.fromS - earlierS, toS: span.toS - earlierS }, mine.abort.signal);
    Promise.all([read(0), compareS === undefined ? undefined : read(compareS)]).then(
      ([reading, earlier]) => {
        if (!landed()) return;
        setState(earlier === undefined ? { reading } : { reading, earlier });
        onAnswer(undefined);
      },
      (reason: Error) => {
        if (!landed()) return;
        mine.abort.abort();
        setState((old) => ({ ...old, error: reason.message }));
        setTimeout(() => setAttempt((count) => count + 1), RETRY_MS);
        onAnswer(reason instanceof ApiError ? reason : undefined);
      },
    );
  }, [isWanted, what, span, attempt]);
  useEffect(() => () => flight.current?.abort.abort(), []);
  return state;
}

/** An array that stays the same object while its entries do. */
function useStable(entries: readonly unknown[]): readonly unknown[] {
  const kept = useRef(entries);
  if (entries.some((entry, i) => entry !== kept.current[i])) kept.current = entries;
  return kept.current;
}
