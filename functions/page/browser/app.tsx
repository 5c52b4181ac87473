import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Api, type ApiError, type Host } from './api';
import { GraphCard } from './graph-card';
import { type Graph, type GraphDefinition, graphsOf } from './graphs';
import { Mark } from './mark';
import { hostName, Sidebar } from './sidebar';
import { SignIn } from './sign-in';
import { StatusView } from './status-view';
import { fixedRange, refreshS, scaled, shifted, spanOf } from './time-range';
import { Toolbar } from './toolbar';
import { decodeState, encodeState, keyInHash, type SourceRef, type ViewState } from './view-state';

/** Of this tab: a link opened in another asks for the key again. */
const KEY = 'key';
/** How often a server that is gone is tried. */
const RETRY_S = 5;
/** How often hosts, services and metric names are looked at for new ones. */
const LISTS_MS = 15_000;
/** The same while there are none. */
const EMPTY_MS = 3_000;

export function App() {
  const [key, setKey] = useState(takeKey);
  const [reason, setReason] = useState<string>();
  useEffect(() => {
    // A printed address, pasted into a tab that has the page already.
    const moved = () => keyInHash(location.hash) !== undefined && setKey(takeKey());
    addEventListener('hashchange', moved);
    return () => removeEventListener('hashchange', moved);
  }, []);
  const api = useMemo(() => (key === undefined ? undefined : new Api(key)), [key]);
  if (api === undefined)
    return (
      <SignIn
        reason={reason}
        onKey={(given) => {
          sessionStorage.setItem(KEY, given);
          setKey(given);
        }}
      />
    );
  return (
    <Frame
      api={api}
      onSignOut={(why) => {
        sessionStorage.removeItem(KEY);
        setReason(why);
        setKey(undefined);
      }}
    />
  );
}

/** The key of this tab; one in the address, as `npm start` prints it, is taken out of there. */
function takeKey(): string | undefined {
  const given = keyInHash(location.hash);
  if (given !== undefined) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, '', `#${encodeState(decodeState(location.hash))}`);
  }
  return given ?? sessionStorage.getItem(KEY) ?? undefined;
}

interface FrameProps {
  readonly api: Api;
  readonly onSignOut: (reason?: string) => void;
}

function Frame({ api, onSignOut }: FrameProps) {
  const [state, change] = useViewState();
  const [gone, setGone] = useState<number>();
  const [menu, setMenu] = useState(false);
  const onAnswer = (error: ApiError | undefined) => {
    if (error === undefined) setGone(undefined);
    else if (error.kind === 'gone') setGone((since) => since ?? Date.now() / 1000);
    else if (error.kind === 'key' || error.kind === 'right') onSignOut(error.message);
  };

  const everyS = gone !== undefined ? RETRY_S : 'lastS' in state.range ? refreshS(state.range.lastS) : 0;
  const nowS = useNow(everyS);
  const span = useMemo(() => spanOf(state.range, nowS), [state.range, nowS]);
  const lists = useLists(api, onAnswer);
  const { hosts, services, definitions } = lists ?? { hosts: [], services: [], definitions: [] };

  // An address without a source shows the first there is; it stays out of the history.
  const source = state.source ?? firstSource(hosts, services);
  const shownState = { ...state, source };
  const graphs = useGraphs(api, source, definitions, onAnswer);
  useShortcuts(state, change);

  useEffect(() => {
    document.title = source === undefined ? 'HeteroTSDB' : `${nameOf(source, hosts)} · HeteroTSDB`;
  }, [source?.id, hosts]);

  const zoomTo = (fromS: number, toS: number) => change({ range: fixedRange(fromS, toS, Date.now() / 1000) });
  const zoomOut = () => change({ range: scaled(state.range, 2, Date.now() / 1000) });
  const isPicked = (graph: Graph) => state.graphs === undefined || state.graphs.includes(graph.name);
  const picked = graphs?.filter(isPicked);
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <p class="brand">
          <Mark /> HeteroTSDB
        </p>
        <nav class="views" aria-label="Views">
          {(['graphs', 'status'] as const).map((view) => (
            <a
              key={view}
              href={`#${encodeState({ ...state, view })}`}
              aria-current={state.view === view ? 'page' : undefined}
            >
              {view === 'graphs' ? 'Graphs' : 'Status'}
            </a>
          ))}
        </nav>
        <button type="button" class="quiet" onClick={() => onSignOut()}>
          Sign out
        </button>
      </header>
      {gone !== undefined && (
        <p class="banner" role="alert">
          The server does not answer. What you see is as of {new Date(gone * 1000).toLocaleTimeString()}; it
          is tried again every {RETRY_S} seconds.
        </p>
      )}
      <div class={state.view === 'status' ? 'body wide' : 'body'}>
        {state.view === 'graphs' && (
          <aside class={menu ? 'side open' : 'side'} aria-label="What is looked at">
            <button
              type="button"
              class="menu"
              aria-expanded={menu}
              aria-controls="side-content"
              onClick={() => setMenu(!menu)}
            >
              {source === undefined ? 'Hosts and services' : nameOf(source, hosts)}
            </button>
            <div id="side-content">
              <Sidebar
                state={shownState}
                hosts={hosts}
                services={services}
                graphs={graphs ?? []}
                onPick={(names) => change({ graphs: names, source })}
                onFollow={() => setMenu(false)}
              />
            </div>
          </aside>
        )}
        <main id="main" tabIndex={-1}>
          {state.view === 'status' ? (
            <StatusView api={api} utc={state.utc} onAnswer={onAnswer} />
          ) : (
            <>
              <h1 class="heading">{source === undefined ? 'Nothing yet' : nameOf(source, hosts)}</h1>
              <Toolbar state={state} span={span} onChange={change} />
              {lists !== undefined && source === undefined && <NoHosts />}
              {source !== undefined && graphs !== undefined && graphs.length === 0 && (
                <NoMetrics source={source} />
              )}
              {picked !== undefined && graphs!.length > 0 && picked.length === 0 && (
                <p class="empty-page">
                  The graphs of this link are not here.{' '}
                  <button type="button" class="quiet" onClick={() => change({ graphs: undefined })}>
                    Show all {graphs!.length}
                  </button>
                </p>
              )}
              {(lists === undefined || (source !== undefined && graphs === undefined)) && (
                <p class="empty-page" aria-busy="true">
                  reading …
                </p>
              )}
              <div class="cards">
                {source !== undefined &&
                  picked?.map((graph) => (
                    <GraphCard
                      key={`${source.kind} ${source.id} ${graph.name} ${graph.metrics.length}`}
                      api={api}
                      source={source}
                      sourceName={nameOf(source, hosts)}
                      graph={graph}
                      range={state.range}
                      span={span}
                      utc={state.utc}
                      showsTiers={state.tiers}
                      onZoom={zoomTo}
                      onZoomOut={zoomOut}
                      onAnswer={onAnswer}
                    />
                  ))}
              </div>
            </>
          )}
        </main>
      </div>
    </div>
  );
}

function NoHosts() {
  return (
    <div class="empty-page">
      <h2>No host has posted yet</h2>
      <p>Point mackerel-agent here, in its configuration:</p>
      <pre>
        apibase = "{location.origin}"{'\n'}apikey = "a key with the write right"
      </pre>
      <p>Or post by hand, as the README shows. What arrives appears here by itself.</p>
    </div>
  );
}

function NoMetrics({ source }: { readonly source: SourceRef }) {
  return (
    <div class="empty-page">
      <h2>This {source.kind} has no metrics yet</h2>
      <p>They appear here by themselves, seconds after the first post.</p>
    </div>
  );
}

function nameOf(source: SourceRef, hosts: readonly Host[]): string {
  const host = source.kind === 'host' ? hosts.find(({ id }) => id === source.id) : undefined;
  return host === undefined ? source.id : hostName(host);
}

function firstSource(hosts: readonly Host[], services: readonly string[]): SourceRef | undefined {
  const [host] = hosts;
  const [service] = services;
  if (host !== undefined) return { kind: 'host', id: host.id };
  return service === undefined ? undefined : { kind: 'service', id: service };
}

/** What is seen, from the address and in it: each change of it is a step of the browser's history. */
function useViewState(): [ViewState, (change: Partial<ViewState>) => void] {
  const [state, setState] = useState(() => decodeState(location.hash));
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    const moved = () => setState(decodeState(location.hash));
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, []);
  const change = (changed: Partial<ViewState>) => {
    const next = { ...latest.current, ...changed };
    history.pushState(null, '', `#${encodeState(next)}`);
    setState(next);
  };
  return [state, change];
}

/** The present, seconds since epoch, anew every so often while the page is looked at; 0: as it was. */
function useNow(everyS: number): number {
  const [nowS, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (everyS === 0) return;
    const look = () => document.hidden || setNow(Date.now() / 1000);
    look();
    const timer = setInterval(look, everyS * 1000);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [everyS]);
  return nowS;
}

interface Lists {
  readonly hosts: readonly Host[];
  readonly services: readonly string[];
  readonly definitions: readonly GraphDefinition[];
}

/** Hosts, services and graph definitions; new ones are looked for now and then. */
function useLists(api: Api, onAnswer: (error: ApiError | undefined) => void): Lists | undefined {
  const [lists, setLists] = useState<Lists>();
  usePolling(
    [api],
    async () => {
      const [hosts, services, definitions] = await Promise.all([
        api.hosts(),
        api.services(),
        api.graphDefinitions(),
      ]);
      hosts.sort((a, b) => hostName(a).localeCompare(hostName(b)));
      return { hosts, services: services.sort(), definitions };
    },
    (found) => {
      setLists((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found));
      return found.hosts.length + found.services.length > 0;
    },
    onAnswer,
  );
  return lists;
}

/** The graphs of a source's metrics; undefined until they are known. */
function useGraphs(
  api: Api,
  source: SourceRef | undefined,
  definitions: readonly GraphDefinition[],
  onAnswer: (error: ApiError | undefined) => void,
): readonly Graph[] | undefined {
  const [found, setFound] = useState<{ readonly of: string; readonly names: readonly string[] }>();
  const of = source === undefined ? '' : `${source.kind} ${source.id}`;
  usePolling(
    [api, of],
    async () => ({ of, names: source === undefined ? [] : await api.metricNames(source) }),
    (next) => {
      setFound((old) => (JSON.stringify(old) === JSON.stringify(next) ? old : next));
      return next.names.length > 0;
    },
    (error) => {
      // A link to what is gone, or was never there.
      if (error?.kind === 'refused') setFound({ of, names: [] });
      onAnswer(error);
    },
  );
  return useMemo(
    () =>
      found === undefined || found.of !== of || of === '' ? undefined : graphsOf(found.names, definitions),
    [found, of, definitions],
  );
}

/**
 * Reads something now, whenever one of `inputs` changes, and now and then.
 *
 * @param onFound says whether anything was found; if not, or after a failure, it is read again sooner
 */
function usePolling<T>(
  inputs: readonly unknown[],
  read: () => Promise<T>,
  onFound: (found: T) => boolean,
  onAnswer: (error: ApiError | undefined) => void,
): void {
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout>;
    const look = async () => {
      let againMs = LISTS_MS;
      try {
        if (!document.hidden) {
          const found = await read();
          if (isOver) return;
          if (!onFound(found)) againMs = EMPTY_MS;
          onAnswer(undefined);
        }
      } catch (error) {
        if (isOver) return;
        againMs = RETRY_S * 1000;
        onAnswer(error as ApiError);
      }
      timer = setTimeout(look, againMs);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [...inputs]);
}

/** `/` searches, `[` and `]` move in time, `+` and `-` zoom, `l` follows the present. */
function useShortcuts(state: ViewState, change: (change: Partial<ViewState>) => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target instanceof HTMLInputElement && target.type !== 'checkbox') return;
      const nowS = Date.now() / 1000;
      const { range } = state;
      const { fromS, toS } = spanOf(range, nowS);
      if (key === '/') document.getElementById('search')?.focus();
      else if (key === '[') change({ range: shifted(range, -0.5, nowS) });
      else if (key === ']' && !('lastS' in range)) change({ range: shifted(range, 0.5, nowS) });
      else if (key === '+' || key === '=') change({ range: scaled(range, 0.5, nowS) });
      else if (key === '-') change({ range: scaled(range, 2, nowS) });
      else if (key === 'l') change({ range: { lastS: Math.round(toS - fromS) } });
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [state]);
}
