/** What is looked at: the last so many seconds, moving on; or a fixed range. Seconds since epoch. */
export type TimeRange = { readonly lastS: number } | { readonly fromS: number; readonly toS: number };

/** A range as it is right now. */
export interface Span {
  readonly fromS: number;
  readonly toS: number;
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

export const MIN_SPAN_S = MINUTE;
export const MAX_SPAN_S = 460 * DAY;

/** The ranges that have a button, with the text in it. */
export const RANGES: readonly { readonly label: string; readonly name: string; readonly lastS: number }[] = [
  { label: '30m', name: '30 minutes', lastS: 30 * MINUTE },
  { label: '1h', name: '1 hour', lastS: HOUR },
  { label: '3h', name: '3 hours', lastS: 3 * HOUR },
  { label: '6h', name: '6 hours', lastS: 6 * HOUR },
  { label: '12h', name: '12 hours', lastS: 12 * HOUR },
  { label: '1d', name: '1 day', lastS: DAY },
  { label: '3d', name: '3 days', lastS: 3 * DAY },
  { label: '1w', name: '1 week', lastS: 7 * DAY },
  { label: '30d', name: '30 days', lastS: 30 * DAY },
  { label: '90d', name: '90 days', lastS: 90 * DAY },
  { label: '1y', name: '1 year', lastS: 365 * DAY },
  { label: '460d', name: '460 days', lastS: 460 * DAY },
];

const UNITS: readonly (readonly [number, string])[] = [
  [DAY, 'd'],
  [HOUR, 'h'],
  [MINUTE, 'm'],
  [1, 's'],
];

/** `90m`, in the largest unit that divides it. */
export function durationText(seconds: number): string {
  const [length, unit] = UNITS.find(([length]) => seconds % length === 0)!;
  return `${seconds / length}${unit}`;
}

/** @returns seconds; undefined for what is no duration */
export function parseDurationText(text: string): number | undefined {
  const match = /^(\d{1,9})([dhms])$/.exec(text);
  const unit = UNITS.find(([, name]) => name === match?.[2]);
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit[0];
}

export function spanOf(range: TimeRange, nowS: number): Span {
  return 'lastS' in range ? { fromS: nowS - range.lastS, toS: nowS } : range;
}

/** At most this many steps are asked for of each series: about one for two pixels of a graph. */
const MAX_STEPS = 800;

const STEPS_S = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY];

/** Up to here samples are asked for as they are stored. */
const MAX_STORED_S = 2 * HOUR;

/** @returns seconds of a step that suits a span; undefined for samples as stored */
export function stepFor({ fromS, toS }: Span): number | undefined {
  const spanS = toS - fromS;
  if (spanS <= MAX_STORED_S) return undefined;
  return STEPS_S.find((step) => spanS / step <= MAX_STEPS) ?? DAY;
}

/** How often a range that moves on is read again: when a graph would move by about a pixel or two, in bounds. */
export function refreshS(lastS: number): number {
  return Math.min(300, Math.max(5, Math.round(lastS / 360)));
}

/** A fixed range within what can be asked for: not too short, not too long, not after now. */
export function fixedRange(fromS: number, toS: number, nowS: number): TimeRange {
  const spanS = Math.min(MAX_SPAN_S, Math.max(MIN_SPAN_S, Math.round(toS - fromS)));
  const middle = (fromS + toS) / 2;
  const end = Math.max(spanS, Math.min(Math.round(middle + spanS / 2), Math.round(nowS)));
  return { fromS: end - spanS, toS: end };
}

/** The same length, earlier (`by` negative) or later, by a share of the length; following again at the present. */
export function shifted(range: TimeRange, by: number, nowS: number): TimeRange {
  const { fromS, toS } = spanOf(range, nowS);
  const spanS = toS - fromS;
  if (toS + by * spanS >= nowS) return { lastS: Math.round(spanS) };
  return fixedRange(fromS + by * spanS, toS + by * spanS, nowS);
}

/** Longer (`factor` above 1) or shorter: around the middle, or at the present where the range follows it. */
export function scaled(range: TimeRange, factor: number, nowS: number): TimeRange {
  const clamp = (spanS: number) => Math.min(MAX_SPAN_S, Math.max(MIN_SPAN_S, Math.round(spanS)));
  if ('lastS' in range) return { lastS: clamp(range.lastS * factor) };
  const middle = (range.fromS + range.toS) / 2;
  const half = ((range.toS - range.fromS) * factor) / 2;
  return fixedRange(middle - half, middle + half, nowS);
}
