/**
 * The time range of all graphs. It either follows the present: it consists of the last `lastS` seconds, and
 * moves as time passes. Or it is fixed, from one Unix time in seconds to another.
 */
export type TimeRange = { readonly lastS: number } | { readonly fromS: number; readonly toS: number };

/** A range at one moment, as Unix time in seconds. */
export interface Span {
  readonly fromS: number;
  readonly toS: number;
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

export const MIN_SPAN_S = MINUTE;
export const MAX_SPAN_S = 460 * DAY;

/** The ranges that have a button. `label` is the button's text. */
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

/** Formats a duration for addresses, such as `90m`, in the largest unit that divides it. */
export function durationText(seconds: number): string {
  const [length, unit] = UNITS.find(([length]) => seconds % length === 0)!;
  return `${seconds / length}${unit}`;
}

/** Parses a duration formatted by `durationText`. Returns seconds; undefined for any other text. */
export function parseDurationText(text: string): number | undefined {
  const match = /^(\d{1,9})([dhms])$/.exec(text);
  const unit = UNITS.find(([, name]) => name === match?.[2]);
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit[0];
}

export function spanOf(range: TimeRange, nowS: number): Span {
  return 'lastS' in range ? { fromS: nowS - range.lastS, toS: nowS } : range;
}

/** Maximum number of steps that a graph reads of a series' stored samples: about one for every two pixels. */
const MAX_READ_STEPS = 800;

const STEPS_S = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, DAY];

/** Maximum length of a range whose samples are read as stored, in seconds. */
const MAX_STORED_S = 2 * HOUR;

/** Returns the step for a span, in seconds; undefined if samples are read as stored. */
export function stepFor({ fromS, toS }: Span): number | undefined {
  const spanS = toS - fromS;
  if (spanS <= MAX_STORED_S) return undefined;
  return STEPS_S.find((step) => spanS / step <= MAX_READ_STEPS) ?? DAY;
}

/**
 * Returns the time between two reads of a range that ends at the present, in seconds. In that time, the range's graph
 * moves by a pixel or two.
 */
export function refreshS(lastS: number): number {
  return Math.min(300, Math.max(5, Math.round(lastS / 360)));
}

/** Makes a fixed range with the same middle, an allowed length, and an end that is not in the future. */
export function fixedRange(fromS: number, toS: number, nowS: number): TimeRange {
  const spanS = Math.min(MAX_SPAN_S, Math.max(MIN_SPAN_S, Math.round(toS - fromS)));
  const middle = (fromS + toS) / 2;
  const end = Math.max(spanS, Math.min(Math.round(middle + spanS / 2), Math.round(nowS)));
  return { fromS: end - spanS, toS: end };
}

/**
 * Moves a range by a share of its length, backwards if `by` is negative. A range that reaches the present
 * then follows it.
 */
export function shifted(range: TimeRange, by: number, nowS: number): TimeRange {
  const { fromS, toS } = spanOf(range, nowS);
  const spanS = toS - fromS;
  if (toS + by * spanS >= nowS) return { lastS: Math.round(spanS) };
  return fixedRange(fromS + by * spanS, toS + by * spanS, nowS);
}

/**
 * Multiplies the length of a range. The middle of the range stays the same; if the range follows the present, its end
 * does.
 */
export function scaled(range: TimeRange, factor: number, nowS: number): TimeRange {
  const clamp = (spanS: number) => Math.min(MAX_SPAN_S, Math.max(MIN_SPAN_S, Math.round(spanS)));
  if ('lastS' in range) return { lastS: clamp(range.lastS * factor) };
  const middle = (range.fromS + range.toS) / 2;
  const half = ((range.toS - range.fromS) * factor) / 2;
  return fixedRange(middle - half, middle + half, nowS);
}
