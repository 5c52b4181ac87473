import { useMemo, useState } from 'preact/hooks';
import type { WidgetGraph } from '../../../../shared/registry/dashboard';
import type { Api } from '../api/api';
import { NO_LISTS } from '../frame/lists';
import { usePolling } from '../frame/polling';
import { GraphCard } from '../graphs/graph-card';
import { graphsOf } from '../graphs/graphs';
import { QueryGraph } from '../graphs/query-graph';
import type { DrawnQuery } from '../graphs/ways';
import { fixedRange, scaled, type TimeRange } from '../view/time-range';
import { hiddenWith } from '../view/view-state';
import { TableWidget } from './table-widget';
import { attempt, Problem, unlessRefused, WidgetCard, type WidgetProps } from './widget-card';
import { expressionQueries, legendOf, namedGraph, queryAt, roleGraph } from './widget-queries';

const NO_ANNOTATIONS: readonly never[] = [];
const noWay = () => {};

type Of<T extends WidgetGraph['type']> = WidgetProps<'graph'> & {
  readonly graph: Extract<WidgetGraph, { type: T }>;
};

/** A graph of stored samples, of an expression, or of a query. */
export function GraphWidget(props: WidgetProps<'graph'>) {
  const { graph, title } = props.widget;
  switch (graph.type) {
    case 'host':
    case 'service':
      return <SourceGraph {...props} graph={graph} />;
    case 'role':
      return <RoleGraph {...props} graph={graph} />;
    case 'query':
      if (props.widget.showsTable === true)
        return <TableWidget {...props} query={graph.query} legend={graph.legend} />;
      return <DrawnGraph {...props} graph={graph} />;
    case 'expression':
      return <DrawnGraph {...props} graph={graph} />;
    case 'unknown':
      return (
        <WidgetCard title={title ?? ''}>
          <p class="note">The graph was deleted.</p>
        </WidgetCard>
      );
  }
}

/** The properties that every graph of the dashboard has. A widget may have its own range. */
function useGraphProps({
  widget,
  api,
  state,
  span,
  returns,
  onChange,
  onSettled,
  height,
}: WidgetProps<'graph'>) {
  const own = ownRange(widget.range);
  const nowS = () => Date.now() / 1000;
  const [line] = widget.referenceLines ?? [];
  // Keep the object of an absolute range: a new object would cause another read.
  const present = widget.range?.type === 'absolute' ? undefined : span;
  const ownSpan = useMemo(() => own?.(span.toS) ?? span, [present, widget.range]);
  return {
    api,
    sourceName: 'dashboard',
    hidden: state.hidden,
    over: 'each',
    annotations: NO_ANNOTATIONS,
    compareS: own === undefined ? state.compareS : undefined,
    range: own === undefined ? state.range : FOLLOWS,
    span: ownSpan,
    returns,
    utc: state.utc,
    showsTiers: false,
    threshold: line?.value,
    height,
    way: undefined,
    onWay: noWay,
    onHide: (id: string, isHidden: boolean) => onChange({ hidden: hiddenWith(state.hidden, id, isHidden) }),
    onZoom: (fromS: number, toS: number) => onChange({ range: fixedRange(fromS, toS, nowS()) }),
    onZoomOut: () => onChange({ range: scaled(state.range, 2, nowS()) }),
    onSettled: unlessRefused(onSettled),
  } as const;
}

/**
 * A range that always ends now. All graphs share this object, because a new object would cause another read.
 */
const FOLLOWS: TimeRange = { lastS: 3600 };

function ownRange(range: WidgetProps<'graph'>['widget']['range']) {
  if (range == null) return undefined;
  if (range.type === 'absolute')
    return () => ({ fromS: range.start, toS: Math.max(range.end, range.start + 60) });
  return (nowS: number) => ({ fromS: nowS + range.offset - range.period, toS: nowS + range.offset });
}

function SourceGraph(props: Of<'host' | 'service'>) {
  const { api, widget, graph: named, lists } = props;
  const source =
    named.type === 'host'
      ? ({ kind: 'host', id: named.hostId } as const)
      : ({ kind: 'service', id: named.serviceName } as const);
  const { names, problem } = useMetricNames(api, source, props.onSettled);
  const common = useGraphProps(props);
  const definitions = lists?.definitions;
  const graph = useMemo(() => {
    const graphs = names === undefined ? [] : graphsOf(source, names, definitions ?? []);
    return namedGraph(graphs, named.name, widget.legendList);
  }, [names, definitions, named.name, widget.legendList]);
  const host = lists?.hosts.find(({ id }) => id === source.id);
  const title = widget.title || `${host?.name ?? source.id} ${graph?.title ?? named.name}`;
  // Keep the same object, because a new one would cause another read.
  const titled = useMemo(() => graph && { ...graph, title }, [graph, title]);
  if (titled === undefined || titled.lines.length === 0)
    return (
      <WidgetCard title={title} isWaiting={names === undefined && problem === undefined}>
        {problem !== undefined ? (
          <Problem>{problem}</Problem>
        ) : (
          <p class="note">
            {names === undefined ? 'reading …' : `The ${source.kind} posts no ${named.name}.`}
          </p>
        )}
      </WidgetCard>
    );
  return <GraphCard {...common} graph={titled} />;
}

function useMetricNames(
  api: Api,
  source: { readonly kind: 'host' | 'service'; readonly id: string },
  onSettled: WidgetProps<'graph'>['onSettled'],
) {
  const [names, setNames] = useState<readonly string[]>();
  const [problem, setProblem] = useState<string>();
  usePolling(
    [api, source.kind, source.id],
    () => api.metricNames(source),
    (found) => {
      setNames((old) => (old?.join() === found.join() ? old : found));
      setProblem(undefined);
      return found.length > 0;
    },
    (error) => {
      if (error?.kind === 'refused') setProblem(error.message);
      else onSettled(error);
    },
    NAMES_EVERY_MS,
  );
  return { names, problem };
}

/** Time between two reads of metric names, in ms. Names rarely change, and a dashboard may have dozens of graphs. */
const NAMES_EVERY_MS = 60_000;

function RoleGraph(props: Of<'role'>) {
  const { graph: named, widget, lists } = props;
  const common = useGraphProps(props);
  const title = widget.title || `${named.roleFullname} ${named.name}`;
  const graph = useMemo(
    () => ({ ...roleGraph(named, lists?.hosts ?? []), title }),
    [JSON.stringify(named), lists?.hosts, title],
  );
  if (graph.lines.length === 0)
    return (
      <WidgetCard title={title} isWaiting={lists === undefined}>
        <p class="note">
          {lists === undefined ? 'reading …' : `No host has the role ${named.roleFullname}.`}
        </p>
      </WidgetCard>
    );
  return <GraphCard {...common} graph={graph} />;
}

function DrawnGraph(props: Of<'expression' | 'query'>) {
  const { graph, widget, lists } = props;
  const common = useGraphProps(props);
  const { hosts } = lists ?? NO_LISTS;
  const isQuery = graph.type === 'query';
  const text = isQuery ? graph.query : graph.expression;
  const title = widget.title || text;
  const { value: queries, problem } = useMemo(
    () =>
      attempt(() =>
        isQuery ? [queryOf(graph.query, graph.legend)] : expressionQueries(graph.expression, hosts),
      ),
    [text, isQuery && graph.legend, hosts],
  );
  if (queries === undefined || lists === undefined)
    return (
      <WidgetCard title={title} isWaiting={problem === undefined}>
        {problem === undefined ? <p class="note">reading …</p> : <Problem>{problem}</Problem>}
      </WidgetCard>
    );
  const queriesAt = (stepS: number) =>
    queries.map((each) => ({ ...each, query: queryAt(each.query, stepS, common.span) }));
  return (
    <QueryGraph
      {...common}
      // If the queries change, because the text or the hosts of the role have changed, show a new graph.
      key={queries.map(({ query }) => query).join('\n')}
      name={text}
      title={title}
      unit="float"
      queriesAt={queriesAt}
      isWanted
    />
  );
}

function queryOf(query: string, legend: string | null | undefined): DrawnQuery {
  const label = legendOf(legend);
  return label === undefined ? { query } : { query, label };
}
