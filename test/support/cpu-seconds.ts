const REPEATS = 3;

/**
 * Measures a synchronous calculation: the least of a few, since other work on the machine and the first run's compilation only
 * add. Two of these compare in a ratio; one alone depends on the machine's speed.
 */
export function leastCpuSeconds(calculate: () => void): number {
  const seconds = Array.from({ length: REPEATS }, () => {
    const before = process.cpuUsage();
    calculate();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  });
  return Math.min(...seconds);
}
