import { readFileSync } from 'node:fs';

/** CPU by kind of process, s. */
export type CpuSeconds = Readonly<Record<string, number>>;

/** CPU that each process has used, s, by pid. */
export type CpuByPid = ReadonlyMap<number, number>;

/** Linux counts CPU in hundredths of a second, whatever the kernel's own tick. */
const TICKS_A_SECOND = 100;

/** @param processes pids by kind */
export function cpuOf(processes: Readonly<Record<string, readonly number[]>>): CpuByPid {
  return new Map(
    Object.values(processes)
      .flat()
      .map((pid) => [pid, secondsOf(pid)]),
  );
}

/** CPU since `before`, by kind. Of a process that has ended since, nothing is counted. */
export function cpuSince(
  before: CpuByPid,
  processes: Readonly<Record<string, readonly number[]>>,
): CpuSeconds {
  return Object.fromEntries(
    Object.entries(processes).map(([kind, pids]) => [
      kind,
      pids.reduce((sum, pid) => sum + secondsOf(pid) - (before.get(pid) ?? 0), 0),
    ]),
  );
}

/** User and system time; 0 where /proc does not tell. */
function secondsOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name, which is in parentheses and may contain blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
  } catch {
    return 0;
  }
}
