/** Units that senders count time in, by their length in ms. */
const UNITS = [
  { name: 'seconds', precision: 's', ms: 1_000 },
  { name: 'milliseconds', precision: 'ms', ms: 1 },
  { name: 'microseconds', precision: 'us', ms: 1e-3 },
  { name: 'nanoseconds', precision: 'ns', ms: 1e-6 },
] as const;

/** 2001 and 2128: between them no count is a time in two units. */
const FIRST_MS = 1e12;
const LAST_MS = 5e12;

/** The unit that a count since epoch is likely to have; undefined when it is a time of these days in none. */
export function likelyUnit(count: number): (typeof UNITS)[number] | undefined {
  return UNITS.find(({ ms }) => count * ms >= FIRST_MS && count * ms <= LAST_MS);
}
