import { NO_NODE } from './mark-script';

/** A primary's replies to questions about itself and its cluster. */
export interface PrimaryReply {
  /** Reply to `INFO`, with the sections `replication` and `server`; '' if the node did not answer. */
  readonly info: string;
  /** Reply to `CLUSTER NODES`; '' if the store is not a cluster. */
  readonly nodes: string;
  /**
   * Reply to `CLUSTER INFO`. Absent unless every node was asked for this reply before any node was asked for the other
   * two.
   */
  readonly cluster?: string;
}

/** The state of a primary. From it, recovery decides whether a primary has failed (recovery/era.ts). */
export interface PrimaryState {
  /** Replication id, which changes at a restart and at a promotion. */
  readonly id: string;
  /** Id of the process. Unlike the replication id, it does not change when the first replica attaches. */
  readonly run: string;
  /** Replication id of the primary from which this one took over; undefined if this one was never a replica. */
  readonly previous: string | undefined;
  /** Ranges of the hash slots that the primary serves, separated by spaces; '' for none, 'all' without a cluster. */
  readonly slots: string;
  /** Whether a hash slot is being moved to or from this primary. Stored eras have this name for it. */
  readonly isOpen: boolean;
  /**
   * Number of messages about failed nodes, and of requests for votes, that the primary's process has sent and received.
   * Undefined if the store is not a cluster, or if {@link PrimaryReply.cluster} is absent.
   */
  readonly failures?: number;
}

/** The primaries of the memory tier at one time, and the hash slots that they serve. */
export interface Topology {
  /**
   * A string by which callers compare topologies. It changes if a primary with slots is wiped, restarted or replaced,
   * or if a slot moves.
   */
  readonly text: string;
  /** Whether any hash slot is being moved to another primary. */
  readonly isMoving: boolean;
  /** The hash slots that are being moved. */
  readonly movingSlots: ReadonlySet<number>;
  /**
   * Every primary, including those without slots. Undefined if a primary did not answer, unless the cluster has
   * flagged this primary as failed.
   */
  readonly primaries: readonly PrimaryState[] | undefined;
}

/** Where a node listens. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

interface NodeLine {
  readonly node: string;
  readonly address: NodeAddress;
  readonly flags: readonly string[];
  /** Words such as `0-5460`, `5462` and `[93->-id]`: ranges, single hash slots, and hash slots being moved. */
  readonly slots: readonly string[];
}

/**
 * Combines the replies of nodes into a topology.
 *
 * @returns the topology, and in `unreached` the addresses of primaries that other nodes mention but that gave no reply
 */
export function primariesOf(
  replies: readonly PrimaryReply[],
): Topology & { readonly unreached: readonly NodeAddress[] } {
  const primaries: PrimaryState[] = [];
  const texts: string[] = [];
  const movingSlots = new Set<number>();
  const replied = new Set<string>();
  const given = new Set<string>();
  const others = new Map<string, NodeAddress>();
  for (const { info, nodes, cluster = '' } of replies) {
    const id = field(info, 'master_replid');
    if (id === undefined) {
      texts.push('undefined');
      continue;
    }
    const lines = nodes.split('\n').filter(Boolean).map(lineOf);
    const own = lines.find(({ flags }) => flags.includes('myself'));
    if (own !== undefined) replied.add(own.node);
    for (const { node, flags, address } of lines) {
      if (flags.includes('fail') || flags.includes('noaddr')) given.add(node);
      else if (flags.includes('master') && !flags.includes('handshake')) others.set(node, address);
    }
    if (field(info, 'role') !== 'master') continue;
    const moving = own?.slots.filter((range) => range.startsWith('[')) ?? [];
    for (const range of moving) movingSlots.add(Number(range.slice(1).split('-')[0]));
    const slots = own === undefined ? 'all' : own.slots.filter((range) => !range.startsWith('[')).join(' ');
    const previous = field(info, 'master_replid2');
    primaries.push({
      id,
      run: field(info, 'run_id') ?? id,
      previous: previous === NO_NODE ? undefined : previous,
      slots,
      isOpen: moving.length > 0,
      failures: failuresOf(cluster),
    });
    if (own === undefined || own.slots.length > 0)
      texts.push([id, ...(own?.slots ?? [])].join(own === undefined ? '' : ' '));
  }
  const unreached = [...others].filter(([node]) => !replied.has(node) && !given.has(node));
  return {
    text: texts.sort().join('; '),
    isMoving: movingSlots.size > 0,
    movingSlots,
    primaries: primaries.length > 0 && unreached.length === 0 ? primaries : undefined,
    unreached: unreached.map(([, address]) => address),
  };
}

/** Parses a line of CLUSTER NODES: `id host:port@bus,name flags primary sent received epoch state slots...`. */
function lineOf(line: string): NodeLine {
  const [node, address = '', flags = '', , , , , , ...slots] = line.trim().split(' ');
  const [endpoint = '', name] = address.split(',');
  const colon = endpoint.lastIndexOf(':');
  const port = Number(endpoint.slice(colon + 1).split('@')[0]);
  // Prefer the node's name, if it has one, since TLS certificates are issued for names.
  return {
    node: node!,
    address: { host: name || endpoint.slice(0, colon), port },
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
