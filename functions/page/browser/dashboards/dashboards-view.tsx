// These imports must be first, as in main.tsx: in the bundle, the modules then come before those of the file
// that both share.
import '../language';
import '../frame/shared-file';
import { useEffect, useState } from 'preact/hooks';
import type { Dashboard, Widget } from '../../../../shared/registry/dashboard';
import { readDashboards } from '../api/dashboards';
import { usePolling } from '../frame/polling';
import { Toolbar } from '../frame/toolbar';
import type { ViewProps } from '../frame/views';
import { Breakable } from '../view/breakable';
import { counted, formatTime } from '../view/format';
import { encodeState } from '../view/view-state';
import rules from './dashboards.css' with { type: 'text' };
import { useOpenAlerts } from './use-open-alerts';
import { WidgetView } from './widgets';

// Loaded here instead of with the page's own style, so that users who only look at graphs do not load these
// rules.
const style = new CSSStyleSheet();
style.replaceSync(rules);
document.adoptedStyleSheets.push(style);

/** Interval of reads, ms. Dashboards rarely change, and the answer contains all of their widgets. */
const EVERY_MS = 60_000;

/** Shows a list of all dashboards, or the widgets of one. */
export function DashboardsView(props: ViewProps) {
  const { api, state, onAnswer } = props;
  const [dashboards, setDashboards] = useState<readonly Dashboard[]>();
  usePolling(
    [api],
    () => readDashboards(api),
    (found) => {
      setDashboards((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found));
      return true;
    },
    onAnswer,
    EVERY_MS,
  );
  const shown = dashboards?.find(({ id }) => id === state.dashboard);
  useEffect(() => {
    document.title = `${shown?.title ?? 'Dashboards'} · HeteroTSDB`;
  }, [shown?.title]);
  return (
    <section class="dashboards" aria-busy={dashboards === undefined}>
      {shown !== undefined ? (
        <OneDashboard {...props} key={shown.id} dashboard={shown} />
      ) : (
        <>
          <h1 class="heading">Dashboards</h1>
          {dashboards === undefined ? (
            <p class="note">reading …</p>
          ) : (
            <>
              {state.dashboard !== undefined && (
                <p class="notice" role="alert">
                  There is no dashboard {state.dashboard.slice(0, 100)}. It may have been deleted.
                </p>
              )}
              <DashboardList {...props} dashboards={dashboards} />
            </>
          )}
        </>
      )}
    </section>
  );
}

function DashboardList({ state, dashboards }: ViewProps & { readonly dashboards: readonly Dashboard[] }) {
  if (dashboards.length === 0)
    return (
      <div class="empty-page">
        <h2>No dashboards yet</h2>
        <p>Push one with mkr:</p>
        <pre>mkr --apibase {location.origin} dashboards push -F dashboard.json</pre>
      </div>
    );
  return (
    <ul>
      {dashboards.map(({ id, title, memo, widgets, updatedAt }) => (
        <li key={id} class="card">
          <h2>
            <a href={`#${encodeState({ ...state, dashboard: id })}`}>
              <Breakable text={title} />
            </a>
          </h2>
          {memo && <p>{memo}</p>}
          <p class="note">
            {counted(widgets?.length ?? 0, 'widget')}, changed {formatTime(updatedAt, state.utc)}
          </p>
        </li>
      ))}
    </ul>
  );
}

function OneDashboard(props: ViewProps & { readonly dashboard: Dashboard }) {
  const { api, state, span, dashboard, onChange, onAnswer } = props;
  const isWide = useIsWide();
  const widgets = inOrder(dashboard.widgets ?? []);
  const openAlerts = useOpenAlerts(
    api,
    widgets.some(({ type }) => type === 'alertStatus'),
    onAnswer,
  );
  return (
    <>
      <p class="note">
        <a href={`#${encodeState({ ...state, dashboard: undefined })}`}>All dashboards</a>
      </p>
      <h1 class="heading">
        <Breakable text={dashboard.title} />
      </h1>
      {dashboard.memo && <p class="note">{dashboard.memo}</p>}
      <Toolbar state={state} span={span} isOverHosts={false} hasTiers={false} onChange={onChange} />
      {widgets.length === 0 && <p class="empty-page">This dashboard has no widgets.</p>}
      <ul class="widgets">
        {widgets.map((widget, i) => (
          <li key={`${dashboard.updatedAt} ${i}`} style={isWide ? placeOf(widget) : undefined}>
            <WidgetView
              {...props}
              widget={widget}
              height={isWide ? plotHeight(widget) : PHONE_PLOT}
              openAlerts={openAlerts}
            />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Heights of a row and of the gap between two rows, in pixels. dashboards.css has the same values. */
const ROW = 26;
const GAP = 8;
/** Height of a graph's card without its plot (title, legend, padding), in pixels. */
const AROUND_PLOT = 100;
const MIN_PLOT = 90;
/** Height of a plot on a phone, where widgets are in a single column, in pixels. */
const PHONE_PLOT = 190;
const COLUMNS = 24;

/** Sorts widgets from top to bottom, then from left to right: the order on a phone and for screen readers. */
function inOrder(widgets: readonly Widget[]): readonly Widget[] {
  return [...widgets].sort((a, b) => a.layout.y - b.layout.y || a.layout.x - b.layout.x);
}

function placeOf({ layout: { x, y, width, height } }: Widget) {
  const column = Math.min(x, COLUMNS - 1);
  return {
    gridColumn: `${column + 1} / span ${Math.max(1, Math.min(width, COLUMNS - column))}`,
    gridRow: `${y + 1} / span ${Math.max(1, height)}`,
  };
}

function plotHeight({ layout: { height } }: Widget): number {
  return Math.max(MIN_PLOT, height * (ROW + GAP) - GAP - AROUND_PLOT);
}

/** Whether the window is wide enough for several columns. */
function useIsWide(): boolean {
  const [query] = useState(() => matchMedia('(min-width: 700px)'));
  const [isWide, setWide] = useState(query.matches);
  useEffect(() => {
    const changed = () => setWide(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  return isWide;
}
