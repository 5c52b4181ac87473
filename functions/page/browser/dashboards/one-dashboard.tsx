import { useMemo, useRef, useState } from 'preact/hooks';
import type { Dashboard, Variable } from '../../../../shared/registry/dashboard';
import { Toolbar } from '../frame/toolbar';
import type { ViewProps } from '../frame/views';
import { Breakable } from '../view/breakable';
import { encodeState } from '../view/view-state';
import { readingOrder } from './arrangement';
import { FullScreen } from './full-screen';
import { PHONE_PLOT, placeStyle, plotHeight, useIsWide } from './grid';
import { DeleteDashboard } from './list-dialogs';
import { useVariables } from './use-variables';
import type { OpenAlerts } from './use-widget-alerts';
import { VariableBar } from './variable-bar';
import { widgetWithVariables } from './variables';
import { WidgetView } from './widgets';

interface OneDashboardProps extends ViewProps {
  readonly dashboard: Dashboard;
  readonly openAlerts: OpenAlerts;
  readonly onEdit: () => void;
  readonly onDeleted: () => void;
}

const NO_VARIABLES: readonly Variable[] = [];

/** The widgets of a dashboard, with its range and variables. */
export function OneDashboard(props: OneDashboardProps) {
  const { api, state, span, dashboard, openAlerts, onChange, onEdit, onDeleted } = props;
  const isWide = useIsWide();
  const screen = useRef<HTMLDivElement>(null);
  const [asksToDelete, setAsks] = useState(false);
  const [problem, setProblem] = useState<string>();
  const { choices, values, isComplete } = useVariables(props, dashboard.variables ?? NO_VARIABLES);
  const widgets = useMemo(() => {
    const all = dashboard.widgets ?? [];
    return readingOrder(all).map((at) => widgetWithVariables(all[at]!, values));
  }, [dashboard.widgets, values]);
  return (
    <div class="screen" ref={screen}>
      <p class="note back">
        <a href={`#${encodeState({ ...state, dashboard: undefined, variables: {} })}`}>All dashboards</a>
      </p>
      <div class="title">
        <h1 class="heading">
          <Breakable text={dashboard.title} />
        </h1>
        <p class="buttons">
          <button type="button" onClick={onEdit}>
            Edit
          </button>
          <FullScreen element={screen} onFail={setProblem} />
          <button type="button" onClick={() => setAsks(true)}>
            Delete
          </button>
        </p>
      </div>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {dashboard.memo && <p class="note">{dashboard.memo}</p>}
      <Toolbar state={state} span={span} isOverHosts={false} hasTiers={false} onChange={onChange} />
      {choices.length > 0 && (
        <VariableBar
          choices={choices}
          onChoose={(name, chosen) => onChange({ variables: { ...state.variables, [name]: chosen } })}
        />
      )}
      {widgets.length === 0 && <p class="empty-page">This dashboard has no widgets. Edit it to add some.</p>}
      {isComplete && (
        <ul class="widgets">
          {widgets.map((widget, i) => (
            <li key={`${dashboard.updatedAt} ${i}`} style={isWide ? placeStyle(widget.layout) : undefined}>
              <WidgetView
                {...props}
                widget={widget}
                height={isWide ? plotHeight(widget.layout) : PHONE_PLOT}
                openAlerts={openAlerts}
              />
            </li>
          ))}
        </ul>
      )}
      {asksToDelete && (
        <DeleteDashboard
          api={api}
          dashboard={dashboard}
          onClose={() => setAsks(false)}
          onDeleted={onDeleted}
        />
      )}
    </div>
  );
}
