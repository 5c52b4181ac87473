import { formatTime } from './format';
import { durationText, RANGES, type Span, scaled, shifted, type TimeRange } from './time-range';
import type { ViewState } from './view-state';

export interface ToolbarProps {
  readonly state: ViewState;
  readonly span: Span;
  readonly onChange: (change: Partial<ViewState>) => void;
}

/** The time range that all graphs share, and how they are shown. */
export function Toolbar({ state, span, onChange }: ToolbarProps) {
  const { range, utc, tiers } = state;
  const isLive = 'lastS' in range;
  const nowS = () => Date.now() / 1000;
  const to = (next: TimeRange) => onChange({ range: next });
  return (
    <div class="toolbar">
      <fieldset class="ranges" aria-label="Length of the time range">
        {RANGES.map(({ label, name, lastS }) => (
          <button
            key={label}
            type="button"
            aria-label={`${label}: the last ${name}`}
            aria-pressed={isLive && range.lastS === lastS}
            onClick={() => to({ lastS })}
          >
            {label}
          </button>
        ))}
      </fieldset>
      <fieldset class="steps" aria-label="Move in time">
        <button
          type="button"
          aria-label="Earlier"
          title="Earlier  ["
          onClick={() => to(shifted(range, -0.5, nowS()))}
        >
          ‹
        </button>
        <button
          type="button"
          aria-label="Later"
          title="Later  ]"
          disabled={isLive}
          onClick={() => to(shifted(range, 0.5, nowS()))}
        >
          ›
        </button>
        <button
          type="button"
          aria-label="Zoom in"
          title="Zoom in  +"
          onClick={() => to(scaled(range, 0.5, nowS()))}
        >
          +
        </button>
        <button
          type="button"
          aria-label="Zoom out"
          title="Zoom out  −"
          onClick={() => to(scaled(range, 2, nowS()))}
        >
          −
        </button>
      </fieldset>
      <p class="range">
        {isLive ? (
          <>
            <i class="live" /> last {durationText(range.lastS)}
          </>
        ) : (
          <>
            {formatTime(span.fromS, utc)} <span>to</span> {formatTime(span.toS, utc)}{' '}
            <button
              type="button"
              class="quiet"
              onClick={() => to({ lastS: Math.max(60, Math.round(span.toS - span.fromS)) })}
            >
              Follow now
            </button>
          </>
        )}
      </p>
      <div class="switches">
        <button type="button" aria-pressed={tiers} onClick={() => onChange({ tiers: !tiers })}>
          Where the data is
        </button>
        <button type="button" aria-pressed={utc} onClick={() => onChange({ utc: !utc })}>
          UTC
        </button>
      </div>
    </div>
  );
}
