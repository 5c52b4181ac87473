import { useMemo, useRef, useState } from 'preact/hooks';
import type { Api, Host } from '../api/api';
import { MAX_GRAPH_LINES } from '../graphs/drawing';
import { type Graph, type GraphDefinition, graphsOf } from '../graphs/graphs';
import { type HostMetrics, hostGraphsOf, underPrefix } from '../graphs/host-graphs';
import { labelGraphsOf } from '../graphs/label-graphs';
import type { FamilyMetadata } from '../graphs/metadata';
import { hostLabel, sharedNames } from '../side/host-text';
import { type Labels, parseLabels } from '../view/labels-text';
import type { SourceRef } from '../view/view-state';
import { type OnSettled, usePolling } from './polling';

/** The metrics from which a source's graphs are made. */
interface Found {
  readonly of: string;
  /** The source's own metrics. */
  readonly names: readonly string[];
  /** Hosts of a service or role. */
  readonly hosts: readonly HostMetrics[];
  /** Series of a source given by labels. */
  readonly series: readonly Labels[];
  readonly metadata: readonly (readonly [family: string, FamilyMetadata])[];
}

/** Time between two reads for services and roles, in ms. It is long because each host takes a request. */
const HOSTS_EVERY_MS = 60_000;

/** Returns the graphs of a source; undefined until they have been read. */
export function useGraphs(
  api: Api,
  source: SourceRef | undefined,
  hosts: readonly Host[],
  definitions: readonly GraphDefinition[],
  onSettled: OnSettled,
): readonly Graph[] | undefined {
  const [found, setFound] = useState<Found>();
  const members = useMemo(
    () => (source === undefined ? [] : membersOf(source, hosts).slice(0, MAX_GRAPH_LINES)),
    [source?.kind, source?.id, hosts],
  );
  const of = source === undefined ? '' : `${source.kind} ${source.id}`;
  usePolling(
    [api, of, members.map(({ id }) => id).join(' ')],
    async () => ({ of, ...(source === undefined ? NOTHING : await find(api, source, members)) }),
    (next) => {
      setFound((old) => (JSON.stringify(old) === JSON.stringify(next) ? old : next));
      return next.names.length + next.hosts.length + next.series.length > 0;
    },
    (error) => {
      // The source in the address does not exist. Show none of its graphs; the page says that it does not
      // exist.
      if (error?.kind === 'refused') setFound({ of, ...NOTHING });
      onSettled(error);
    },
    members.length > 0 ? HOSTS_EVERY_MS : undefined,
  );
  const former = useRef<readonly Graph[]>([]);
  return useMemo(() => {
    if (source === undefined || found?.of !== of) return undefined;
    const ofHosts = hostGraphsOf(found.hosts, definitions);
    const graphs = [
      ...graphsOf(source, found.names, definitions),
      ...(source.kind === 'service' ? underPrefix('hosts', ofHosts) : ofHosts),
      ...labelGraphsOf(
        source.kind === 'labels' ? parseLabels(source.id) : [],
        found.series,
        new Map(found.metadata),
      ),
    ];
    former.current = keptGraphs(former.current, graphs);
    return former.current;
  }, [found, of, definitions]);
}

/**
 * Returns the new graphs. A graph that is equal to an old one remains the same object, so that the page does
 * not read or draw it again.
 */
function keptGraphs(former: readonly Graph[], graphs: readonly Graph[]): readonly Graph[] {
  const byText = new Map(former.map((graph) => [JSON.stringify(graph), graph]));
  return graphs.map((graph) => byText.get(JSON.stringify(graph)) ?? graph);
}

const NOTHING = { names: [], hosts: [], series: [], metadata: [] };

async function find(api: Api, source: SourceRef, members: readonly Host[]): Promise<Omit<Found, 'of'>> {
  const shared = sharedNames(members);
  const isOwn = source.kind === 'host' || source.kind === 'service';
  const [names, hosts, series, metadata] = await Promise.all([
    isOwn ? api.metricNames(source) : [],
    Promise.all(
      members.map(async (host) => ({
        id: host.id,
        name: hostLabel(host, shared),
        metrics: await api.metricNames({ kind: 'host', id: host.id }),
      })),
    ),
    source.kind === 'labels' ? api.seriesOf(parseLabels(source.id)) : [],
    // If metadata cannot be read, show counters and histograms as stored: only metadata says which metrics are counters
    // or histograms.
    source.kind === 'labels' ? api.metadata().catch(() => new Map<string, FamilyMetadata>()) : [],
  ]);
  return { names, hosts, series, metadata: [...metadata] };
}

export function membersOf({ kind, id }: SourceRef, hosts: readonly Host[]): readonly Host[] {
  if (kind === 'service') return hosts.filter(({ roles }) => Object.hasOwn(roles, id));
  if (kind !== 'role') return [];
  const [service = '', role = ''] = id.split(':');
  return hosts.filter(({ roles }) => Object.hasOwn(roles, service) && roles[service]!.includes(role));
}
