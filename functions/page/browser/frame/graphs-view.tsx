import type { Api } from '../api/api';
import { GraphCard } from '../graphs/graph-card';
import { type Graph, graphHas, wordsOf } from '../graphs/graphs';
import { formatTime } from '../view/format';
import { fixedRange, type Span, scaled } from '../view/time-range';
import { hiddenWith, type ViewState } from '../view/view-state';
import { HostDetails } from './host-details';
import { NoGraphs, NoHosts, NoneShown, RetiredNotice, Waiting } from './notices';
import type { OnAnswer } from './polling';
import { Toolbar } from './toolbar';
import { useAnnotations } from './use-annotations';
import type { ShownSource } from './use-source';
import type { ChangeView } from './use-view-state';

export interface GraphsViewProps {
  readonly api: Api;
  readonly state: ViewState;
  readonly span: Span;
  /** How often the server came back after it was gone. */
  readonly returns: number;
  /** Whether the tenant has no source at all. */
  readonly isEmpty: boolean;
  readonly source: ShownSource | undefined;
  readonly graphs: readonly Graph[] | undefined;
  readonly onChange: ChangeView;
  readonly onHostChanged: () => void;
  readonly onAnswer: OnAnswer;
}

/** A source's name, the toolbar, and its graphs. */
export function GraphsView(props: GraphsViewProps) {
  const { api, state, span, isEmpty, source, graphs, onChange, onAnswer } = props;
  const annotations = useAnnotations(api, source, state.range, onAnswer);
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
        <HostDetails api={api} host={source.host} state={state} onChanged={props.onHostChanged} />
      )}
      <Toolbar
        state={state}
        span={span}
        isOverHosts={source?.ref.kind === 'role' || source?.ref.kind === 'service'}
        onChange={onChange}
      />
      {source?.existence === 'retired' && <RetiredNotice source={source} utc={state.utc} />}
      {annotations.length > 0 && (
        <ul class="annotations" aria-label="Annotations">
          {annotations.map(({ id, title, description, from, to }) => (
            <li key={id} title={description}>
              <time>
                {formatTime(from, state.utc)}
                {to > from ? ` to ${formatTime(to, state.utc).slice(11)}` : ''}
              </time>{' '}
              {title}
            </li>
          ))}
        </ul>
      )}
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
              over={hasSeveralHosts(graph) ? state.over : 'each'}
              annotations={annotations}
              compareS={state.compareS}
              range={state.range}
              span={span}
              returns={props.returns}
              utc={state.utc}
              showsTiers={state.tiers}
              onHide={hide}
              onZoom={(fromS, toS) => onChange({ range: fixedRange(fromS, toS, nowS()) })}
              onZoomOut={() => onChange({ range: scaled(state.range, 2, nowS()) })}
              onAnswer={onAnswer}
            />
          ))}
      </div>
    </>
  );
}

/** Says why there are no graphs, if there are none. */
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

/** Whether a graph's lines are hosts. */
function hasSeveralHosts({ lines }: Graph): boolean {
  return lines.some(({ id, source }) => source.kind === 'host' && source.id === id);
}
