// Keep these imports first. Other modules use the language while they load, and the bundler loads modules in the order
// of imports.
import '../language';
import '../frame/shared-file';
import { useEffect, useState } from 'preact/hooks';
import type { Dashboard } from '../../../../shared/registry/dashboard';
import { readDashboards } from '../api/dashboards';
import { usePolling } from '../frame/polling';
import type { ViewProps } from '../frame/views';
import { Breakable } from '../view/breakable';
import { counted, formatTime } from '../view/format';
import { encodeState } from '../view/view-state';
import { DashboardEditor } from './dashboard-editor';
import rules from './dashboards.css' with { type: 'text' };
import { draftOf, openDraft, present, useDraft } from './drafts';
import { ImportDashboard, NewDashboard } from './list-dialogs';
import { OneDashboard } from './one-dashboard';
import { useWidgetAlerts } from './use-widget-alerts';

// Add these CSS rules here and not to the page's own style, so that users who only look at graphs do not load them.
const style = new CSSStyleSheet();
style.replaceSync(rules);
document.adoptedStyleSheets.push(style);

/** Time between two reads, in ms. Dashboards rarely change, and the response contains all of their widgets. */
const EVERY_MS = 60_000;

/** Shows a list of all dashboards, one dashboard, or one that is being edited. */
export function DashboardsView(props: ViewProps) {
  const { api, state, onChange, onSettled } = props;
  const [dashboards, setDashboards] = useState<readonly Dashboard[]>();
  const [reads, setReads] = useState(0);
  usePolling(
    [api, reads],
    () => readDashboards(api),
    (found) => {
      setDashboards((old) => (JSON.stringify(old) === JSON.stringify(found) ? old : found));
      return true;
    },
    onSettled,
    EVERY_MS,
  );
  const shown = dashboards?.find(({ id }) => id === state.dashboard);
  const [draft, setDraft] = useDraft(dashboards === undefined ? undefined : state.dashboard);
  const title = (draft === undefined ? shown : present(draft))?.title;
  useEffect(() => {
    document.title = `${title ?? 'Dashboards'} · HeteroTSDB`;
  }, [title]);
  const widgets = (draft === undefined ? shown : present(draft))?.widgets ?? [];
  const openAlerts = useWidgetAlerts(
    api,
    widgets.some(({ type }) => type === 'alertStatus'),
    onSettled,
  );
  /** Shows a dashboard that was saved, without waiting until the list has been read again. */
  const saved = (dashboard: Dashboard) => {
    setDraft(undefined);
    setDashboards((old) => [...(old ?? []).filter(({ id }) => id !== dashboard.id), dashboard]);
    setReads((count) => count + 1);
    if (dashboard.id !== state.dashboard) onChange({ dashboard: dashboard.id, variables: {} });
  };
  const deleted = ({ id }: Dashboard) => {
    setDashboards((old) => old?.filter((each) => each.id !== id));
    setReads((count) => count + 1);
    onChange({ dashboard: undefined, variables: {} });
  };
  if (draft !== undefined)
    return (
      <section class="dashboards">
        <DashboardEditor
          {...props}
          key={draft.base.id}
          draft={draft}
          stored={shown}
          openAlerts={openAlerts}
          onDraft={setDraft}
          onSaved={saved}
          onStale={() => setReads((count) => count + 1)}
        />
      </section>
    );
  return (
    <section class="dashboards" aria-busy={dashboards === undefined}>
      {shown !== undefined ? (
        <OneDashboard
          {...props}
          key={shown.id}
          dashboard={shown}
          openAlerts={openAlerts}
          onEdit={() => setDraft(draftOf(shown))}
          onDeleted={() => deleted(shown)}
        />
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
              <DashboardList {...props} dashboards={dashboards} onSaved={saved} />
            </>
          )}
        </>
      )}
    </section>
  );
}

interface DashboardListProps extends ViewProps {
  readonly dashboards: readonly Dashboard[];
  readonly onSaved: (dashboard: Dashboard) => void;
}

function DashboardList({ api, state, dashboards, onSaved }: DashboardListProps) {
  const [dialog, setDialog] = useState<'new' | 'import'>();
  const close = () => setDialog(undefined);
  return (
    <>
      <p class="buttons">
        <button type="button" onClick={() => setDialog('new')}>
          New dashboard
        </button>
        <button type="button" onClick={() => setDialog('import')}>
          Import from Grafana
        </button>
      </p>
      {dialog === 'new' && (
        <NewDashboard
          api={api}
          onClose={close}
          onCreated={(created) => {
            openDraft(draftOf(created));
            onSaved(created);
          }}
        />
      )}
      {dialog === 'import' && <ImportDashboard api={api} onClose={close} onCreated={onSaved} />}
      {dashboards.length === 0 && (
        <div class="empty-page">
          <h2>No dashboards yet</h2>
          <p>Make one here, or push one with mkr:</p>
          <pre>mkr --apibase {location.origin} dashboards push -F dashboard.json</pre>
        </div>
      )}
      <ul>
        {[...dashboards].sort(byTitle).map(({ id, title, memo, widgets, updatedAt }) => (
          <li key={id} class="card">
            <h2>
              <a href={`#${encodeState({ ...state, dashboard: id, variables: {} })}`}>
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
    </>
  );
}

function byTitle(a: Dashboard, b: Dashboard): number {
  return a.title < b.title ? -1 : a.title > b.title ? 1 : 0;
}
