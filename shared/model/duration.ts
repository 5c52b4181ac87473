const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Parses a duration such as `500ms`, `20s`, `15m`, `1h` or `460d`. The unit is required, because people who write a
 * bare number usually mean seconds or minutes, not the ms that the code uses.
 *
 * @returns ms; undefined if the string is not a duration
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,15})(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}

/** Formats a duration of whole ms in the largest unit that divides it, such as `90s`, `1h` or `35d`. */
export function durationText(ms: number): string {
  if (ms === 0) return '0s';
  const unit = (['d', 'h', 'm', 's'] as const).find((each) => ms % UNIT_MS[each] === 0);
  return unit === undefined ? `${ms}ms` : `${ms / UNIT_MS[unit]}${unit}`;
}

export const MINUTE_MS = UNIT_MS.m;
export const HOUR_MS = UNIT_MS.h;
export const DAY_MS = UNIT_MS.d;
