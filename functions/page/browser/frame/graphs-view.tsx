import { GraphCard } from '../graphs/graph-card';
import { type Graph, graphHas, wordsOf } from '../graphs/graphs';
import { fixedRange, scaled } from '../view/time-range';
import { hiddenWith } from '../view/view-state';
import { Annotations } from './annotations';
import { HostDetails } from './host-details';
import { NoGraphs, NoHosts, NoneShown, RetiredNotice, Waiting } from './notices';
import { Toolbar } from './toolbar';
import { hasServices, useAnnotations } from './use-annotations';
import type { ShownSource } from './use-source';
import type { ViewProps } from './views';

export interface GraphsViewProps extends ViewProps {
  readonly isEmpty: boolean;
  readonly source: ShownSource | undefined;
  readonly graphs: readonly Graph[] | undefined;
}

/** Shows a source's name, the toolbar, and its graphs. */
export function GraphsView(props: GraphsViewProps) {
  const { api, state, span, isEmpty, source, graphs, onChange, onSettled } = props;
  const annotations = useAnnotations(api, source, state.range, onSettled);
  const words = wordsOf(state.find);
  const shown = graphs?.filter(
    (graph) => (state.graphs?.includes(graph.name) ?? true) && graphHas(graph, words),
  );
  const nowS = () => Date.now() / 1000;
  const hide = (id: string, isHidden: boolean) =>
    onChange({ hidden: hiddenWith(state.hidden, id, isHidden) });
  return (
    <>
      <h1 class="heading">{isEmpty ? 'Nothing yet' : (source?.name ?? 'HeteroTSDB')}</h1>
      {source?.host !== undefined && (
        <HostDetails api={api} host={source.host} state={state} onChanged={props.onListsChanged} />
      )}
      <Toolbar
        state={state}
        span={span}
        isOverHosts={source?.ref.kind === 'role' || source?.ref.kind === 'service'}
        onChange={onChange}
      />
      {source?.existence === 'retired' && <RetiredNotice source={source} utc={state.utc} />}
      {hasServices(source) && <Annotations annotations={annotations} utc={state.utc} />}
      <Notice {...props} shownCount={shown?.length} />
      <div class="cards">
        {source !== undefined &&
          shown?.map((graph) => (
            <GraphCard
              key={`${source.ref.kind} ${source.ref.id} ${graph.name}`}
              api={api}
              sourceName={source.name}
              graph={graph}
              hidden={state.hidden}
              over={hasHostLines(graph) ? state.over : 'each'}
              annotations={annotations}
              compareS={state.compareS}
              way={state.ways[graph.name]}
              onWay={(way) => onChange({ ways: { ...state.ways, [graph.name]: way } })}
              range={state.range}
              span={span}
              returns={props.returns}
              utc={state.utc}
              showsTiers={state.tiers}
              onHide={hide}
              onZoom={(fromS, toS) => onChange({ range: fixedRange(fromS, toS, nowS()) })}
              onZoomOut={() => onChange({ range: scaled(state.range, 2, nowS()) })}
              onSettled={onSettled}
            />
          ))}
      </div>
    </>
  );
}

/** If there are no graphs, explains why. */
function Notice({
  isEmpty,
  source,
  graphs,
  state,
  onChange,
  shownCount,
}: GraphsViewProps & { readonly shownCount: number | undefined }) {
  if (isEmpty) return <NoHosts />;
  if (source === undefined || graphs === undefined || source.existence === 'pending')
    return graphs !== undefined && graphs.length > 0 ? null : <Waiting>reading …</Waiting>;
  if (graphs.length === 0) return <NoGraphs source={source} />;
  if (shownCount! > 0) return null;
  return (
    <NoneShown
      count={graphs.length}
      find={state.find}
      onShowAll={() => onChange({ graphs: undefined, find: '' })}
    />
  );
}

/** Whether any line of a graph stands for a host. */
function hasHostLines({ lines }: Graph): boolean {
  return lines.some(({ id, source }) => source.kind === 'host' && source.id === id);
}
