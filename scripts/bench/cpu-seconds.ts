import { cpuMs } from './ingest';

/** CPU by kind of process, s. */
export type CpuSeconds = Readonly<Record<string, number>>;

/** CPU that each process has used, s, by pid. */
export type CpuByPid = ReadonlyMap<number, number>;

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

/** User and system time; 0 for a process that has ended, and where /proc does not tell. */
function secondsOf(pid: number): number {
  try {
    return cpuMs(pid) / 1000;
  } catch {
    return 0;
  }
}
