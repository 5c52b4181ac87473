import { useEffect, useRef, useState } from 'preact/hooks';
import { dateTimeText, formatDuration, formatTime, parseDateTime } from '../view/format';
import { MAX_SPAN_S, MIN_SPAN_S, type Span, type TimeRange } from '../view/time-range';

export interface DateRangeProps {
  readonly range: TimeRange;
  readonly span: Span;
  readonly utc: boolean;
  readonly onRange: (range: TimeRange) => void;
}

/** Shows the range, and lets the user choose another by date and time, in UTC or local time. */
export function DateRange({ range, span, utc, onRange }: DateRangeProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const from = useRef<HTMLInputElement>(null);
  const to = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  // Run this before the form opens. The toggle event comes later, and a fill then would overwrite what the user has
  // entered.
  const fill = () => {
    setProblem(undefined);
    if (details.current!.open) return;
    from.current!.value = dateTimeText(span.fromS, utc);
    to.current!.value = dateTimeText(span.toS, utc);
  };
  const focus = () => {
    const isEntering = details.current!.querySelector('form')!.contains(document.activeElement);
    if (details.current!.open && !isEntering) from.current!.focus();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const [fromS, toS] = [from, to].map((field) => parseDateTime(field.current!.value, utc));
    const found = problemOf(fromS, toS);
    setProblem(found);
    if (found !== undefined) return;
    close();
    onRange({ fromS: fromS!, toS: toS! });
  };
  const close = () => {
    details.current!.open = false;
  };
  useEffect(() => {
    const pressed = ({ target }: Event) => {
      if (!details.current!.contains(target as Node)) close();
    };
    document.addEventListener('pointerdown', pressed);
    return () => document.removeEventListener('pointerdown', pressed);
  }, []);
  const zone = utc ? 'UTC' : 'your time zone';
  return (
    <details
      class="dates"
      ref={details}
      onToggle={focus}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget !== null && !details.current!.contains(relatedTarget as Node)) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        close();
        details.current!.querySelector('summary')!.focus();
      }}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button, and Enter clicks it too */}
      <summary class="range" title="Choose dates" onClick={fill}>
        {'lastS' in range ? (
          <span>
            <i class="live" /> last {formatDuration(range.lastS * 1000)}
          </span>
        ) : (
          <>
            <span class="long">
              {formatTime(span.fromS, utc)} to {formatTime(span.toS, utc)}
            </span>
            <span class="short">{shortRangeText(span, utc)}</span>
          </>
        )}
      </summary>
      <form onSubmit={submit}>
        <label>
          From <input type="datetime-local" ref={from} required />
        </label>
        <label>
          To <input type="datetime-local" ref={to} required />
        </label>
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="primary">
          Show
        </button>
        <p class="note">Times are in {zone}.</p>
      </form>
    </details>
  );
}

/**
 * Formats a range for a phone, without year and seconds. Omits the day of the end if the range ends on the day it
 * begins.
 */
function shortRangeText({ fromS, toS }: Span, utc: boolean): string {
  const [from, to] = [fromS, toS].map((timeS) => formatTime(timeS, utc).slice(5, 16)) as [string, string];
  return `${from} to ${to.slice(0, 5) === from.slice(0, 5) ? to.slice(6) : to}`;
}

function problemOf(fromS: number | undefined, toS: number | undefined): string | undefined {
  if (fromS === undefined || toS === undefined) return 'Enter both dates with their times.';
  if (fromS < 0) return 'The earliest date is 1970-01-01.';
  if (fromS >= toS) return 'The end must be after the beginning.';
  if (toS - fromS > MAX_SPAN_S) return `A range is at most ${formatDuration(MAX_SPAN_S * 1000)} long.`;
  if (toS - fromS < MIN_SPAN_S) return `A range is at least ${formatDuration(MIN_SPAN_S * 1000)} long.`;
  return undefined;
}
