/** The counters of a node at one time. The next call of {@link loadOf} computes the node's load from them. */
export interface NodeCounters {
  readonly run: string;
  /** CPU time of the node's main thread, which runs all commands, s; undefined if the node does not report it. */
  readonly cpuSeconds: number | undefined;
  /** When the counters were read, ms by a monotonic clock. */
  readonly atMs: number;
}

/** How busy the busiest nodes are. */
export interface HotLoad {
  /** Share of the fullest node's memory that is used, 0 to 1. A node without a limit (`maxmemory`) counts as 0. */
  readonly memory: number;
  /**
   * Share of a core that the busiest main thread has used since the last call, 0 to 1; 0 at the first call.
   */
  readonly cpu: number;
}

/**
 * Computes the load from the replies of all nodes to `INFO memory cpu server`.
 *
 * @param before the counters that the last call returned, by {@link NodeCounters.run}
 */
export function loadOf(
  infos: readonly string[],
  before: ReadonlyMap<string, NodeCounters>,
  nowMs: number,
): { readonly load: HotLoad; readonly counters: ReadonlyMap<string, NodeCounters> } {
  const counters = infos.map((info) => countersOf(info, nowMs));
  return {
    load: {
      memory: highest(infos.map(fullnessOf)),
      cpu: highest(counters.map((each) => cpuSince(each, before))),
    },
    counters: new Map(counters.map((each) => [each.run, each])),
  };
}

function fullnessOf(info: string): number {
  const maxBytes = numberOf(info, 'maxmemory') ?? 0;
  return maxBytes === 0 ? 0 : (numberOf(info, 'used_memory') ?? 0) / maxBytes;
}

function countersOf(info: string, atMs: number): NodeCounters {
  const user = numberOf(info, 'used_cpu_user_main_thread');
  const system = numberOf(info, 'used_cpu_sys_main_thread');
  const cpuSeconds = user === undefined || system === undefined ? undefined : user + system;
  return { run: /^run_id:(\w+)/m.exec(info)?.[1] ?? '', cpuSeconds, atMs };
}

function cpuSince(
  { run, cpuSeconds, atMs }: NodeCounters,
  before: ReadonlyMap<string, NodeCounters>,
): number {
  const last = before.get(run);
  if (cpuSeconds === undefined || last?.cpuSeconds === undefined || atMs <= last.atMs) return 0;
  return Math.min(1, (1000 * (cpuSeconds - last.cpuSeconds)) / (atMs - last.atMs));
}

function highest(shares: readonly number[]): number {
  return Math.max(0, ...shares);
}

function numberOf(info: string, field: string): number | undefined {
  const text = new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1];
  return text === undefined ? undefined : Number(text);
}
