const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Reads a duration.
 *
 * @returns ms, or undefined when the text is not a duration
 */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,15})(ms|s|m|h|d)?$/.exec(text.trim());
  if (match === null) return undefined;
  return Number(match[1]) * UNIT_MS[(match[2] ?? 'ms') as keyof typeof UNIT_MS];
}

export const DAY_MS = UNIT_MS.d;
