import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Api, ApiError } from '../api/api';
import { Mark } from '../mark';
import { counted, formatCount, timeParts } from '../view/format';
import { refreshS, spanOf } from '../view/time-range';
import { encodeState, rangeProblem, VIEWS, type ViewState } from '../view/view-state';
import { useLists } from './lists';
import { RETRY_S, useNow } from './polling';
import { useFiring } from './use-firing';
import { useShortcuts } from './use-shortcuts';
import { useViewState } from './use-view-state';
import { VIEW_ENTRIES } from './views';

export interface FrameProps {
  readonly api: Api;
  /** @param reason why the page asks for another key */
  readonly onSignOut: (reason?: string) => void;
}

/** The page for a valid key: the header, and the view that the address names. */
export function Frame({ api, onSignOut }: FrameProps) {
  const [state, change] = useViewState();
  const { goneSinceS, returns, onSettled } = useServerState(onSignOut);
  const [problem, closeProblem] = useRangeProblem(state);

  const nowS = useNow(refreshEvery(state, goneSinceS !== undefined));
  const span = useMemo(() => spanOf(state.range, nowS), [state.range, nowS]);
  const [changes, setChanges] = useState(0);
  const lists = useLists(api, changes, onSettled);
  const firing = useFiring(api, changes, onSettled);
  useShortcuts(state, change);
  useKeptFocus(state);
  const { Component } = VIEW_ENTRIES[state.view];

  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Header state={state} firing={firing} onSignOut={() => onSignOut()} />
      {goneSinceS !== undefined && (
        <p class="banner" role="alert">
          The server has not answered since {timeParts(goneSinceS, state.utc).time}. The page tries again
          every {RETRY_S} seconds.
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
      <Component
        api={api}
        state={state}
        span={span}
        returns={returns}
        lists={lists}
        onListsChanged={() => setChanges((count) => count + 1)}
        onChange={change}
        onSettled={onSettled}
      />
    </div>
  );
}

interface HeaderProps {
  readonly state: ViewState;
  /** Number of firing alerts; undefined until it is known. */
  readonly firing: number | undefined;
  readonly onSignOut: () => void;
}

function Header({ state, firing, onSignOut }: HeaderProps) {
  const views = useRef<HTMLElement>(null);
  // On a phone, the list of views scrolls. Keep the current view in sight.
  useEffect(
    () =>
      views.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }),
    [state.view],
  );
  return (
    <header class="top">
      <p class="brand">
        <Mark /> <span>HeteroTSDB</span>
      </p>
      <nav class="views" aria-label="Views" ref={views}>
        {VIEWS.map((view) => (
          <a
            key={view}
            // Give the address a path. Without a path, the link leads to a fragment, and the accessibility
            // checker axe mistakes such a link for a skip link while it is out of sight.
            href={`./#${encodeState({ ...state, view, item: undefined })}`}
            aria-current={state.view === view ? 'page' : undefined}
          >
            {VIEW_ENTRIES[view].title}
            {view === 'alerts' && firing !== undefined && firing > 0 && (
              <span class="firing" role="img" aria-label={`${formatCount(firing)} firing`}>
                {formatCount(firing)}
              </span>
            )}
          </a>
        ))}
      </nav>
      <p class="spoken" role="status" aria-label="Firing alerts">
        {firing !== undefined && `${firing === 0 ? 'No alerts' : counted(firing, 'alert')} firing`}
      </p>
      <button type="button" class="quiet" onClick={onSignOut}>
        Sign out
      </button>
    </header>
  );
}

/** Moves the focus to the content after a navigation that removed the focused element, such as a link in a list. */
function useKeptFocus({ view, item }: ViewState): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && document.activeElement === document.body)
      document.getElementById('main')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [view, item]);
}

/** Tracks the results of requests: since when the server has been unreachable, and whether the key is still valid. */
function useServerState(onSignOut: FrameProps['onSignOut']) {
  // Keep both values in one state, so that the first response after a failure counts as exactly one return.
  const [{ goneSinceS, returns }, setState] = useState<{ goneSinceS?: number; returns: number }>({
    returns: 0,
  });
  const onSettled = (error: ApiError | undefined) => {
    if (error === undefined)
      setState((old) => (old.goneSinceS === undefined ? old : { returns: old.returns + 1 }));
    else if (error.kind === 'gone') setState((old) => ({ goneSinceS: Date.now() / 1000, ...old }));
    else if (error.kind === 'key' || error.kind === 'right') onSignOut(error.message);
  };
  return { goneSinceS, returns, onSettled };
}

/**
 * Returns the time between reads in seconds. It is short while the server does not answer. If the range is fixed, it is
 * 0, which means never.
 */
function refreshEvery({ range, refreshS: chosenS }: ViewState, isGone: boolean): number {
  if (isGone) return RETRY_S;
  if (!('lastS' in range)) return 0;
  return chosenS ?? refreshS(range.lastS);
}

/**
 * Returns a message if the range in the opened address is invalid. Returns undefined once the user has closed the
 * message or changed the range.
 */
function useRangeProblem({ range }: ViewState): [string | undefined, () => void] {
  const [problem, setProblem] = useState(() => rangeProblem(location.hash));
  const first = useRef(range);
  useEffect(() => {
    if (first.current !== range) setProblem(rangeProblem(location.hash));
    first.current = range;
  }, [range]);
  return [problem, () => setProblem(undefined)];
}
