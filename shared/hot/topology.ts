import { NO_NODE } from './mark-script';

/** What a node reports about itself and the cluster. */
export interface PrimaryAnswer {
  /** Reply to `INFO`, with the sections `replication` and `server`; '' when the node did not answer. */
  readonly info: string;
  /** Reply to `CLUSTER NODES`; '' when the store is not a cluster. */
  readonly nodes: string;
  /** Reply to `CLUSTER INFO`. Absent unless it was requested before all other replies. */
  readonly cluster?: string;
}

/** What a primary reports about itself. Recovery decides on it whether a primary failed (recovery/era.ts). */
export interface PrimaryState {
  /** Replication id: changes at a restart or a promotion. */
  readonly id: string;
  /**
   * Id of the process. Unlike the replication id, it does not change when a primary's first replica attaches.
   */
  readonly run: string;
  /** Replication id of the primary that this one took over from; undefined if it never was a replica. */
  readonly previous: string | undefined;
  /** Slot ranges that it serves, separated by spaces; '' for none, 'all' when the store is not a cluster. */
  readonly slots: string;
  /** Whether a slot is being moved to or from this primary. */
  readonly isOpen: boolean;
  /**
   * Number of cluster messages about failed nodes and votes for promotion that its process has sent and
   * received. Undefined when the store is not a cluster, or when {@link PrimaryAnswer.cluster} is absent.
   */
  readonly failures?: number;
}

/** Which primary serves which partitions. */
export interface Topology {
  /**
   * Changes whenever a primary that serves slots is wiped, restarted or replaced, and whenever a slot moves.
   */
  readonly text: string;
  /** True while a slot is being moved to another primary. */
  readonly isMoving: boolean;
  /** The slots that are being moved. */
  readonly openSlots: ReadonlySet<number>;
  /**
   * Every primary, including those without slots. Undefined when one did not answer, unless the cluster has
   * marked it as failed.
   */
  readonly primaries: readonly PrimaryState[] | undefined;
}

/** Where a node listens. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** One line of `CLUSTER NODES`. */
interface NodeLine {
  readonly node: string;
  readonly address: NodeAddress;
  readonly flags: readonly string[];
  /** Such as `0-5460 5462 [93->-id]`: ranges, single slots and slots that are being moved. */
  readonly slots: readonly string[];
}

/**
 * Combines the nodes' replies.
 *
 * @returns the topology, and the addresses of primaries that replies mention and that have not been asked
 */
export function primariesOf(
  answers: readonly PrimaryAnswer[],
): Topology & { readonly unasked: readonly NodeAddress[] } {
  const primaries: PrimaryState[] = [];
  const texts: string[] = [];
  const openSlots = new Set<number>();
  const answered = new Set<string>();
  const given = new Set<string>();
  const others = new Map<string, NodeAddress>();
  for (const { info, nodes, cluster = '' } of answers) {
    const id = field(info, 'master_replid');
    if (id === undefined) {
      texts.push('undefined');
      continue;
    }
    const lines = nodes.split('\n').filter(Boolean).map(lineOf);
    const own = lines.find(({ flags }) => flags.includes('myself'));
    if (own !== undefined) answered.add(own.node);
    for (const { node, flags, address } of lines) {
      if (flags.includes('fail') || flags.includes('noaddr')) given.add(node);
      else if (flags.includes('master') && !flags.includes('handshake')) others.set(node, address);
    }
    if (field(info, 'role') !== 'master') continue;
    const open = own?.slots.filter((range) => range.startsWith('[')) ?? [];
    for (const range of open) openSlots.add(Number(range.slice(1).split('-')[0]));
    const slots = own === undefined ? 'all' : own.slots.filter((range) => !range.startsWith('[')).join(' ');
    const previous = field(info, 'master_replid2');
    primaries.push({
      id,
      run: field(info, 'run_id') ?? id,
      previous: previous === NO_NODE ? undefined : previous,
      slots,
      isOpen: open.length > 0,
      failures: failuresOf(cluster),
    });
    if (own === undefined || own.slots.length > 0)
      texts.push([id, ...(own?.slots ?? [])].join(own === undefined ? '' : ' '));
  }
  const unasked = [...others].filter(([node]) => !answered.has(node) && !given.has(node));
  return {
    text: texts.sort().join('; '),
    isMoving: openSlots.size > 0,
    openSlots,
    primaries: primaries.length > 0 && unasked.length === 0 ? primaries : undefined,
    unasked: unasked.map(([, address]) => address),
  };
}

/** Parses `id host:port@bus,name flags primary sent received epoch state slots...`. */
function lineOf(line: string): NodeLine {
  const [node, address = '', flags = '', , , , , , ...slots] = line.trim().split(' ');
  const [place = '', name] = address.split(',');
  const colon = place.lastIndexOf(':');
  const port = Number(place.slice(colon + 1).split('@')[0]);
  // Prefer the name, where nodes have one, since certificates are made for it.
  return {
    node: node!,
    address: { host: name || place.slice(0, colon), port },
    flags: flags.split(','),
    slots,
  };
}

/** Sums the counters in `CLUSTER INFO`, which leaves out counters that are 0. */
function failuresOf(cluster: string): number | undefined {
  if (!cluster.includes('cluster_stats_messages_received:')) return undefined;
  const counts = cluster.matchAll(/^cluster_stats_messages_(?:fail|auth-req)_(?:sent|received):(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1];
}
