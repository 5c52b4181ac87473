import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Api, ApiError } from '../api/api';
import { Mark } from '../mark';
import { Sidebar } from '../side/sidebar';
import { sectionsOf } from '../side/sources';
import type { Count } from '../status/sample-rate';
import { StatusView } from '../status/status-view';
import { timeParts } from '../view/format';
import { refreshS, spanOf } from '../view/time-range';
import { encodeState, rangeProblem, VIEWS, type ViewState } from '../view/view-state';
import { Explore } from './explore';
import { GraphsView } from './graphs-view';
import { NO_LISTS, useLists } from './lists';
import { RETRY_S, useNow } from './polling';
import { useGraphs } from './use-graphs';
import { useShortcuts } from './use-shortcuts';
import { firstSource, useSource } from './use-source';
import { useViewState } from './use-view-state';

export interface FrameProps {
  readonly api: Api;
  /** @param reason why the page asks for a key again */
  readonly onSignOut: (reason?: string) => void;
}

/** Everything that a valid key shows: header, list of sources, graphs or status. */
export function Frame({ api, onSignOut }: FrameProps) {
  const [state, change] = useViewState();
  const { goneSinceS, returns, onAnswer } = useServerState(onSignOut);
  const [problem, closeProblem] = useRangeProblem(state);

  const nowS = useNow(refreshEvery(state, goneSinceS !== undefined));
  const span = useMemo(() => spanOf(state.range, nowS), [state.range, nowS]);
  const [changes, setChanges] = useState(0);
  const lists = useLists(api, changes, onAnswer);
  const { hosts, services, labelled, definitions } = lists ?? NO_LISTS;
  const sections = useMemo(() => sectionsOf(hosts, services, labelled), [hosts, services, labelled]);

  // An address without a source shows the first, without a step of the history.
  const ref = state.source ?? firstSource(lists ?? NO_LISTS);
  const source = useSource(api, ref, lists, onAnswer);
  const graphs = useGraphs(api, ref, hosts, definitions, onAnswer);
  useShortcuts(state, change);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const counts = useRef<readonly Count[]>([]);

  useEffect(() => {
    const title = state.view === 'graphs' ? source?.name : VIEW_TITLES[state.view];
    document.title = title === undefined ? 'HeteroTSDB' : `${title} · HeteroTSDB`;
  }, [source?.name, state.view]);

  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Header state={state} onSignOut={() => onSignOut()} />
      {goneSinceS !== undefined && (
        <p class="banner" role="alert">
          The server does not answer since {timeParts(goneSinceS, state.utc).time}. The page asks again every{' '}
          {RETRY_S} seconds.
        </p>
      )}
      {problem !== undefined && (
        <p class="banner" role="alert">
          {problem}{' '}
          <button type="button" class="quiet" onClick={closeProblem}>
            Close
          </button>
        </p>
      )}
      <div class={state.view === 'graphs' ? 'body' : 'body wide'}>
        {state.view === 'graphs' && (
          <aside class={isMenuOpen ? 'side open' : 'side'} aria-label="Sources and graphs">
            <button
              type="button"
              class="menu"
              aria-expanded={isMenuOpen}
              aria-controls="side-content"
              onClick={() => setMenuOpen(!isMenuOpen)}
            >
              <span>{source?.name ?? 'Hosts and services'}</span>
            </button>
            <div id="side-content">
              <Sidebar
                state={{ ...state, source: ref }}
                sections={sections}
                graphs={graphs ?? []}
                onPick={(names) => change({ graphs: names, source: ref })}
                onFind={(find) => change({ find }, { replace: true })}
                onFollow={() => setMenuOpen(false)}
              />
            </div>
          </aside>
        )}
        <main id="main" tabIndex={-1}>
          {state.view === 'status' && (
            <StatusView api={api} utc={state.utc} counts={counts} onAnswer={onAnswer} />
          )}
          {state.view === 'explore' && (
            <Explore
              api={api}
              state={state}
              span={span}
              returns={returns}
              onChange={change}
              onAnswer={onAnswer}
            />
          )}
          {state.view === 'graphs' && (
            <GraphsView
              api={api}
              state={state}
              span={span}
              returns={returns}
              isEmpty={lists !== undefined && ref === undefined}
              source={source}
              graphs={graphs}
              onChange={change}
              onHostChanged={() => setChanges((count) => count + 1)}
              onAnswer={onAnswer}
            />
          )}
        </main>
      </div>
    </div>
  );
}

const VIEW_TITLES = { graphs: 'Graphs', explore: 'Explore', status: 'Status' } as const;

function Header({ state, onSignOut }: { readonly state: ViewState; readonly onSignOut: () => void }) {
  return (
    <header class="top">
      <p class="brand">
        <Mark /> HeteroTSDB
      </p>
      <nav class="views" aria-label="Views">
        {VIEWS.map((view) => (
          <a
            key={view}
            href={`#${encodeState({ ...state, view })}`}
            aria-current={state.view === view ? 'page' : undefined}
          >
            {VIEW_TITLES[view]}
          </a>
        ))}
      </nav>
      <button type="button" class="quiet" onClick={onSignOut}>
        Sign out
      </button>
    </header>
  );
}

/** Watches what requests come back with: since when the server has been gone, and whether the key is still good. */
function useServerState(onSignOut: FrameProps['onSignOut']) {
  // In one piece, so that an answer after a failure counts as one return.
  const [{ goneSinceS, returns }, setState] = useState<{ goneSinceS?: number; returns: number }>({
    returns: 0,
  });
  const onAnswer = (error: ApiError | undefined) => {
    if (error === undefined)
      setState((old) => (old.goneSinceS === undefined ? old : { returns: old.returns + 1 }));
    else if (error.kind === 'gone') setState((old) => ({ goneSinceS: Date.now() / 1000, ...old }));
    else if (error.kind === 'key' || error.kind === 'right') onSignOut(error.message);
  };
  return { goneSinceS, returns, onAnswer };
}

/** Seconds between reads: soon again while the server is gone, never for a range that stands still. */
function refreshEvery({ range, refreshS: chosenS }: ViewState, isGone: boolean): number {
  if (isGone) return RETRY_S;
  if (!('lastS' in range)) return 0;
  return chosenS ?? refreshS(range.lastS);
}

/** Says that the range of the opened address is impossible, until someone closes it or changes the range. */
function useRangeProblem({ range }: ViewState): [string | undefined, () => void] {
  const [problem, setProblem] = useState(() => rangeProblem(location.hash));
  const first = useRef(range);
  useEffect(() => {
    if (first.current !== range) setProblem(rangeProblem(location.hash));
    first.current = range;
  }, [range]);
  return [problem, () => setProblem(undefined)];
}
