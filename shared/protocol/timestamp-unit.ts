/** Units in which senders express time, with their length in ms. */
const UNITS = [
  { name: 'seconds', precision: 's', ms: 1_000 },
  { name: 'milliseconds', precision: 'ms', ms: 1 },
  { name: 'microseconds', precision: 'us', ms: 1e-3 },
  { name: 'nanoseconds', precision: 'ns', ms: 1e-6 },
] as const;

/** Bounds of a plausible time in ms: the years 2001 and 2128. A number falls between them in only one unit. */
const FIRST_MS = 1e12;
const LAST_MS = 5e12;

/** Returns the likely unit of a Unix time; undefined when no unit gives a plausible time. */
export function likelyUnit(count: number): (typeof UNITS)[number] | undefined {
  return UNITS.find(({ ms }) => count * ms >= FIRST_MS && count * ms <= LAST_MS);
}
