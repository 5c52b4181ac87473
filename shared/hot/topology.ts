import { NO_NODE } from './mark-script';

/** What a node says of itself and the cluster. */
export interface PrimaryAnswer {
  /** Its `INFO`: the sections `replication` and `server`; '' when it did not answer. */
  readonly info: string;
  /** Its `CLUSTER NODES`; '' without a cluster. */
  readonly nodes: string;
  /** Its `CLUSTER INFO`, if it was asked before all other answers of the look. */
  readonly cluster?: string;
}

/** A primary, as it says of itself. Recovery judges by it (recovery/era.ts). */
export interface PrimaryState {
  /** Replication id: a restart or a promotion makes a new one. */
  readonly id: string;
  /** Id of its process. The replication id of a primary without replicas changes when its first one attaches, this one does not. */
  readonly run: string;
  /** Replication id of the primary that it took over from; undefined if it never was a replica. */
  readonly previous: string | undefined;
  /** Slot ranges that it serves, between spaces; '' for none, 'all' without a cluster. */
  readonly slots: string;
  /** Whether a slot is on its way to or from it, key by key. */
  readonly isOpen: boolean;
  /**
   * Messages about nodes that failed and replicas that ask for votes that its process has sent and received. Undefined when
   * unknown: without a cluster, or when it is asked after others.
   */
  readonly failures?: number;
}

/** Which primary serves which partitions. */
export interface Topology {
  /** Changes whenever a primary that serves slots is wiped, restarted or replaced, and whenever a slot has moved. */
  readonly text: string;
  /** True while a slot is on its way to another primary, key by key. */
  readonly isMoving: boolean;
  /** The slots that are. */
  readonly openSlots: ReadonlySet<number>;
  /** Every primary, also those without a slot; undefined when one did not answer that the cluster has not given up. */
  readonly primaries: readonly PrimaryState[] | undefined;
}

/** Where a node listens. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** A line of `CLUSTER NODES`. */
interface NodeLine {
  readonly node: string;
  readonly address: NodeAddress;
  readonly flags: readonly string[];
  /** `0-5460 5462 [93->-id]` */
  readonly slots: readonly string[];
}

/**
 * Puts together what nodes answer.
 *
 * @returns the topology, and the addresses of primaries that others know and that are not among the answers
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

/** `id host:port@bus,name flags primary sent received epoch state slots...` */
function lineOf(line: string): NodeLine {
  const [node, address = '', flags = '', , , , , , ...slots] = line.trim().split(' ');
  const [place = '', name] = address.split(',');
  const colon = place.lastIndexOf(':');
  const port = Number(place.slice(colon + 1).split('@')[0]);
  // A certificate bears the name, where nodes have one.
  return {
    node: node!,
    address: { host: name || place.slice(0, colon), port },
    flags: flags.split(','),
    slots,
  };
}

/** Reads the count from `CLUSTER INFO`, which leaves out what never happened. */
function failuresOf(cluster: string): number | undefined {
  if (!cluster.includes('cluster_stats_messages_received:')) return undefined;
  const counts = cluster.matchAll(/^cluster_stats_messages_(?:fail|auth-req)_(?:sent|received):(\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

function field(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(\\w+)`, 'm').exec(info)?.[1];
}
