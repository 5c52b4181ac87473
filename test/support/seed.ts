/**
 * Returns the seed that a variable such as `FUZZ_SEED` sets, or else 1, so that a run does not depend on luck. With
 * the value `random`, draws a seed.
 */
export function seedOf(variable: string): number {
  const value = process.env[variable] ?? '1';
  return value === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(value);
}
