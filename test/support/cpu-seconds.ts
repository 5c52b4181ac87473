const REPEATS = 3;

/**
 * Measures a synchronous calculation several times, and returns the lowest CPU time. Other work on the machine and the
 * compilation in the first run can only make a measurement higher. Use the ratio of two results, since a single one
 * depends on the machine's speed.
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
