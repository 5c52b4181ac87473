import { readFileSync } from 'node:fs';

/**
 * Starts measuring this process's CPU.
 *
 * @returns a function that returns the ms used since then, in user mode and in the kernel
 */
export function ownCpu(): () => number {
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
}

/**
 * Returns the CPU time of a process in ms, assuming 100 ticks per second.
 *
 * @see proc_pid_stat(5)
 */
export function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/**
 * Returns the CPU of a process's main thread in ms.
 *
 * @see https://docs.kernel.org/scheduler/sched-stats.html
 */
export function mainThreadCpuMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

type Processes = Readonly<Record<string, readonly number[]>>;

/**
 * Starts measuring the CPU of processes.
 *
 * @param processes process ids by kind
 * @returns a function that returns the seconds used since then, by kind; a process that has ended counts as 0
 */
export function cpuByKind(processes: () => Processes): () => Record<string, number> {
  const secondsOf = (pid: number) => {
    try {
      return cpuMs(pid) / 1000;
    } catch {
      return 0;
    }
  };
  const before = new Map(
    Object.values(processes())
      .flat()
      .map((pid) => [pid, secondsOf(pid)]),
  );
  return () =>
    Object.fromEntries(
      Object.entries(processes()).map(([kind, pids]) => [
        kind,
        pids.reduce((sum, pid) => sum + secondsOf(pid) - (before.get(pid) ?? 0), 0),
      ]),
    );
}
