/**
 * Returns the smallest value that at least a fraction `q` of the values do not exceed (nearest rank).
 *
 * @param values at least one, in any order
 * @param q above 0, at most 1
 */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)]!;
}
