// Keep these imports first. Other modules use the language while they load, and the bundler loads modules in the order
// of imports.
import '../language';
import '../frame/shared-file';
import { Toolbar } from '../frame/toolbar';
import type { ViewProps } from '../frame/views';
import { useMetadata } from '../graphs/use-metadata';
import { useReading } from '../graphs/use-reading';
import { fixedRange, scaled } from '../view/time-range';
import { hiddenWith, MAX_QUERIES } from '../view/view-state';
import { readAlertSpans } from './alert-spans';
import { Editor } from './editor';
import { QueryCard } from './query-card';
import { rememberQuery } from './query-history';
import { Tools } from './tools';

export type ExploreViewProps = Omit<ViewProps, 'lists' | 'onListsChanged'>;

/** PromQL queries over all series, with a graph or table for each. */
export function ExploreView({ api, state, span, returns, onChange, onSettled }: ExploreViewProps) {
  const { queries, asTable } = state;
  const edited = queries.length === 0 ? [''] : queries;
  const metadata = useMetadata(api);
  const onQuerySettled: ViewProps['onSettled'] = (error) => error?.kind !== 'refused' && onSettled(error);
  // If the alerts cannot be read, the graphs are shown without them.
  const { reading: alerts } = useReading(
    { range: state.range, span, compareS: undefined, returns, onSettled: onQuerySettled },
    'alerts',
    (during, signal) => readAlertSpans(api, during, signal),
    queries.some((query) => query !== '') && !asTable,
  );
  const nowS = () => Date.now() / 1000;
  const setQuery = (at: number, query: string) => {
    rememberQuery(query);
    onChange({ queries: edited.map((each, i) => (i === at ? query : each)) });
  };
  const hide = (id: string, isHidden: boolean) =>
    onChange({ hidden: hiddenWith(state.hidden, id, isHidden) });
  return (
    <>
      <h1 class="heading">Explore</h1>
      <div class="queries">
        {edited.map((query, i) => (
          <div class="row" key={i}>
            <Editor api={api} label={`Query ${i + 1}`} query={query} onRun={(text) => setQuery(i, text)} />
            {edited.length > 1 && (
              <button
                type="button"
                class="quiet"
                aria-label={`Remove query ${i + 1}`}
                onClick={() => onChange({ queries: edited.filter((_, at) => at !== i) })}
              >
                Remove
              </button>
            )}
          </div>
        ))}
        <div class="row controls">
          <button
            type="button"
            disabled={edited.length >= MAX_QUERIES}
            onClick={() => onChange({ queries: [...edited, ''] })}
          >
            Add a query
          </button>
          <fieldset class="shows" aria-label="Show as">
            {([false, true] as const).map((table) => (
              <button
                key={String(table)}
                type="button"
                aria-pressed={asTable === table}
                onClick={() => onChange({ asTable: table })}
              >
                {table ? 'Table' : 'Graph'}
              </button>
            ))}
          </fieldset>
          <Tools api={api} metadata={metadata} onExplore={(query) => setQuery(edited.length - 1, query)} />
        </div>
      </div>
      <Toolbar state={state} span={span} isOverHosts={false} onChange={onChange} />
      <div class="cards wide">
        {edited.map(
          (query, i) =>
            query !== '' && (
              <QueryCard
                key={`${i} ${asTable} ${query}`}
                api={api}
                query={query}
                asTable={asTable}
                hidden={state.hidden}
                compareS={state.compareS}
                metadata={metadata}
                way={state.ways[query]}
                onWay={(way) => onChange({ ways: { ...state.ways, [query]: way } })}
                range={state.range}
                span={span}
                returns={returns}
                utc={state.utc}
                showsTiers={state.tiers}
                onHide={hide}
                onZoom={(fromS, toS) => onChange({ range: fixedRange(fromS, toS, nowS()) })}
                onZoomOut={() => onChange({ range: scaled(state.range, 2, nowS()) })}
                alerts={alerts}
                onSettled={onQuerySettled}
              />
            ),
        )}
      </div>
    </>
  );
}
