import { useId, useState } from 'preact/hooks';
import { Choice } from '../view/choice';
import { formatDuration } from '../view/format';
import { MIN_SPAN_S, RANGES, type Span, scaled, shifted, type TimeRange } from '../view/time-range';
import { OVER_HOSTS, type OverHosts, type ViewState } from '../view/view-state';
import { DateRange } from './date-range';

export interface ToolbarProps {
  readonly state: ViewState;
  readonly span: Span;
  /** Whether the graphs combine several hosts. */
  readonly isOverHosts: boolean;
  /** Whether the graphs can show tiers. @default true */
  readonly hasTiers?: boolean;
  readonly onChange: (change: Partial<ViewState>) => void;
}

/** Controls that choose the time range of all graphs, and how they are shown. */
export function Toolbar({ state, span, isOverHosts, hasTiers = true, onChange }: ToolbarProps) {
  const { range, utc, tiers } = state;
  const to = (next: TimeRange) => onChange({ range: next });
  // On a phone, the options are hidden at first.
  const [isExpanded, setExpanded] = useState(false);
  const optionsId = useId();
  return (
    <div class="toolbar">
      <RangeButtons range={range} onRange={to} />
      <StepButtons range={range} onRange={to} />
      <DateRange range={range} span={span} utc={utc} onRange={to} />
      <button
        type="button"
        class="more"
        aria-expanded={isExpanded}
        aria-controls={optionsId}
        onClick={() => setExpanded(!isExpanded)}
      >
        Options
      </button>
      <div class={isExpanded ? 'options open' : 'options'} id={optionsId}>
        <button
          type="button"
          disabled={'lastS' in range}
          onClick={() => to({ lastS: Math.max(MIN_SPAN_S, Math.round(span.toS - span.fromS)) })}
        >
          Follow now
        </button>
        {isOverHosts && (
          <Choice
            label="Hosts"
            value={state.over}
            options={OVER_HOSTS.map((over) => [over, OVER_TEXTS[over]])}
            onChoose={(over) => onChange({ over: over as OverHosts })}
          />
        )}
        <Choice
          label="Compare"
          value={secondsValue(state.compareS)}
          options={optionsWith(COMPARISONS, state.compareS, (text) => `${text} before`)}
          onChoose={(text) => onChange({ compareS: text === '' ? undefined : Number(text) })}
        />
        <Choice
          label="Refresh"
          value={secondsValue(state.refreshS)}
          options={optionsWith(REFRESHES, state.refreshS, (text) => `every ${text}`)}
          onChoose={(text) => onChange({ refreshS: text === '' ? undefined : Number(text) })}
        />
        {hasTiers && (
          <button type="button" aria-pressed={tiers} onClick={() => onChange({ tiers: !tiers })}>
            Where the data is
          </button>
        )}
        <button type="button" aria-pressed={utc} onClick={() => onChange({ utc: !utc })}>
          UTC
        </button>
      </div>
    </div>
  );
}

const OVER_TEXTS: Readonly<Record<OverHosts, string>> = {
  each: 'a line each',
  average: 'average',
  min: 'minimum',
  max: 'maximum',
  sum: 'sum',
};

type Option = readonly [value: string, text: string];

const COMPARISONS: readonly Option[] = [
  ['', 'nothing'],
  ['86400', 'a day before'],
  ['604800', 'a week before'],
];

const REFRESHES: readonly Option[] = [
  ['', 'automatic'],
  ['5', 'every 5 s'],
  ['30', 'every 30 s'],
  ['60', 'every minute'],
  ['300', 'every 5 minutes'],
  ['0', 'off'],
];

function secondsValue(seconds: number | undefined): string {
  return seconds === undefined ? '' : String(seconds);
}

/** Returns the options, with an additional one if the value from a link is not among them. */
function optionsWith(
  options: readonly Option[],
  seconds: number | undefined,
  textOf: (duration: string) => string,
): readonly Option[] {
  const value = secondsValue(seconds);
  return options.some(([each]) => each === value)
    ? options
    : [...options, [value, textOf(formatDuration(seconds! * 1000))]];
}

interface RangeProps {
  readonly range: TimeRange;
  readonly onRange: (range: TimeRange) => void;
}

function RangeButtons({ range, onRange }: RangeProps) {
  return (
    <fieldset class="ranges" aria-label="Length of the time range">
      {RANGES.map(({ label, name, lastS }) => (
        <button
          key={label}
          type="button"
          aria-label={`${label}: the last ${name}`}
          aria-pressed={'lastS' in range && range.lastS === lastS}
          onClick={() => onRange({ lastS })}
        >
          {label}
        </button>
      ))}
    </fieldset>
  );
}

function StepButtons({ range, onRange }: RangeProps) {
  const nowS = () => Date.now() / 1000;
  const buttons = [
    ['‹', 'Earlier', '[', () => shifted(range, -0.5, nowS())],
    ['›', 'Later', ']', () => shifted(range, 0.5, nowS())],
    ['+', 'Zoom in', '+', () => scaled(range, 0.5, nowS())],
    ['−', 'Zoom out', '−', () => scaled(range, 2, nowS())],
  ] as const;
  return (
    <fieldset class="steps" aria-label="Move in time">
      {buttons.map(([sign, name, key, next]) => (
        <button
          key={name}
          type="button"
          aria-label={name}
          title={`${name}  ${key}`}
          disabled={name === 'Later' && 'lastS' in range}
          onClick={() => onRange(next())}
        >
          {sign}
        </button>
      ))}
    </fieldset>
  );
}
