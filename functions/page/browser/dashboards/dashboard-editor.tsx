import { useState } from 'preact/hooks';
import type { Dashboard, Widget } from '../../../../shared/registry/dashboard';
import { MAX_MEMO, MAX_NAME, MAX_WIDGETS } from '../../../../shared/registry/dashboard-limits';
import type { ApiError } from '../api/api';
import { createDashboard, replaceDashboard } from '../api/dashboards';
import type { ViewProps } from '../frame/views';
import { formatTime } from '../view/format';
import { placeBelow, withPlace } from './arrangement';
import { type DashboardDraft, present, specOf, undone, withStep } from './drafts';
import { EditedGrid } from './edited-grid';
import { AreaField, TextField } from './fields';
import { PHONE_PLOT, plotHeight, useIsWide } from './grid';
import { useVariables } from './use-variables';
import type { OpenAlerts } from './use-widget-alerts';
import { widgetWithVariables } from './variables';
import { VariablesForm } from './variables-form';
import { newWidget } from './widget-fields';
import { WidgetForm } from './widget-form';
import { WidgetView } from './widgets';

interface DashboardEditorProps extends ViewProps {
  readonly draft: DashboardDraft;
  /** The dashboard as it is stored now; undefined if somebody deleted it. */
  readonly stored: Dashboard | undefined;
  readonly openAlerts: OpenAlerts;
  /** @param draft undefined ends the edit */
  readonly onDraft: (draft: DashboardDraft | undefined) => void;
  readonly onSaved: (dashboard: Dashboard) => void;
  /** Called when the stored dashboard has changed, to read the dashboards again. */
  readonly onStale: () => void;
}

/** The widget whose form is open. */
type Opened = { readonly at: number } | { readonly added: Widget };

/** Sizes of new widgets, in columns and rows. */
const SIZES = { graph: [12, 10], value: [6, 5], markdown: [12, 6], alertStatus: [6, 5] } as const;

/** An editor for a dashboard. Changes are stored only when the user saves them. */
export function DashboardEditor(props: DashboardEditorProps) {
  const { api, lists, draft, stored, openAlerts, onDraft, onSaved, onStale } = props;
  const isWide = useIsWide();
  const [opened, setOpened] = useState<Opened>();
  const [editsVariables, setEditsVariables] = useState(false);
  const [isSaving, setSaving] = useState(false);
  const [problem, setProblem] = useState<string>();
  const dashboard = present(draft);
  const widgets = dashboard.widgets ?? [];
  const { values } = useVariables(props, dashboard.variables ?? []);
  const change = (changed: Partial<Dashboard>) => onDraft(withStep(draft, { ...dashboard, ...changed }));

  const save = async (write: () => Promise<Dashboard>) => {
    if (isSaving) return;
    setProblem(undefined);
    setSaving(true);
    try {
      onSaved(await write());
    } catch (error) {
      // Somebody changed or deleted the dashboard. The editor says so once the stored dashboard has been read again.
      const { status } = error as ApiError;
      if (status === 412 || status === 404) onStale();
      else setProblem((error as Error).message);
    }
    setSaving(false);
  };
  const saveOver = (version: Pick<Dashboard, 'id' | 'updatedAt'>) =>
    save(() => replaceDashboard(api, version, specOf(dashboard)));
  const cancel = () => {
    if (draft.steps.length === 0 || confirm('Discard your changes to this dashboard?')) onDraft(undefined);
  };
  const apply = (widget: Widget) => {
    if (opened === undefined) return;
    const at = 'at' in opened ? opened.at : widgets.length;
    const next = widgets.map((each, i) => (i === at ? widget : each));
    if ('added' in opened) next.push(widget);
    change({ widgets: withPlace(next, at, widget.layout) });
    setOpened(undefined);
  };
  const add = () => {
    const [width, height] = SIZES.graph;
    setOpened({ added: newWidget('graph', placeBelow(widgets, width, height)) });
  };

  return (
    <>
      <form
        class="edit-bar"
        onSubmit={(event) => {
          event.preventDefault();
          void saveOver(draft.base);
        }}
        // Keys that are typed here must not act as the page's shortcuts.
        onKeyDown={(event) => event.stopPropagation()}
      >
        <h1 class="heading">Edit {dashboard.title}</h1>
        <TextField
          label="Title"
          isRequired
          maxLength={MAX_NAME}
          value={dashboard.title}
          onInput={(title) => change({ title })}
        />
        <AreaField
          label="Memo"
          rows={1}
          maxLength={MAX_MEMO}
          value={dashboard.memo ?? ''}
          onInput={(memo) => change({ memo })}
        />
        <p class="buttons">
          <button type="button" disabled={widgets.length >= MAX_WIDGETS} onClick={add}>
            Add a widget
          </button>
          <button type="button" onClick={() => setEditsVariables(true)}>
            Variables
          </button>
          <button type="button" disabled={draft.steps.length === 0} onClick={() => onDraft(undone(draft))}>
            Undo
          </button>
          <button type="button" onClick={cancel}>
            Cancel
          </button>
          <button
            type="submit"
            class="primary"
            disabled={dashboard.title.trim() === '' || stored?.updatedAt !== draft.base.updatedAt}
            // A disabled button would lose the focus.
            aria-disabled={isSaving}
          >
            Save
          </button>
        </p>
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <Conflict
          {...props}
          isSaving={isSaving}
          onOver={saveOver}
          onAgain={() => save(() => createDashboard(api, specOf(dashboard)))}
        />
      </form>
      {widgets.length === 0 && <p class="empty-page">This dashboard has no widgets yet.</p>}
      <EditedGrid
        widgets={widgets}
        isWide={isWide}
        render={(widget) => (
          <WidgetView
            {...props}
            widget={widgetWithVariables(widget, values)}
            height={isWide ? plotHeight(widget.layout) : PHONE_PLOT}
            openAlerts={openAlerts}
          />
        )}
        onArrange={(next) => change({ widgets: [...next] })}
        onChange={(at) => setOpened({ at })}
        onRemove={(at) => change({ widgets: widgets.filter((_, i) => i !== at) })}
      />
      {opened !== undefined && (
        <WidgetForm
          api={api}
          lists={lists}
          widget={'at' in opened ? widgets[opened.at]! : opened.added}
          title={'at' in opened ? 'Change a widget' : 'Add a widget'}
          onApply={apply}
          onClose={() => setOpened(undefined)}
        />
      )}
      {editsVariables && (
        <VariablesForm
          variables={dashboard.variables ?? []}
          onApply={(variables) => {
            change({ variables: [...variables] });
            setEditsVariables(false);
          }}
          onClose={() => setEditsVariables(false)}
        />
      )}
    </>
  );
}

interface ConflictProps extends DashboardEditorProps {
  readonly isSaving: boolean;
  /** Saves the draft over the version that somebody else saved. */
  readonly onOver: (version: Dashboard) => void;
  /** Saves the draft as a new dashboard. */
  readonly onAgain: () => void;
}

/** Tells the user that somebody else changed or deleted the dashboard, and what the user can do. */
function Conflict({ state, draft, stored, isSaving, onDraft, onOver, onAgain }: ConflictProps) {
  if (stored?.updatedAt === draft.base.updatedAt) return null;
  return (
    <div class="notice" role="alert">
      <p>
        {stored === undefined
          ? 'Somebody deleted this dashboard while you edited it.'
          : `Somebody else saved this dashboard, titled ${stored.title}, at ${formatTime(stored.updatedAt, state.utc)} while you edited it.`}
      </p>
      <p class="buttons">
        <button type="button" onClick={() => onDraft(undefined)}>
          {stored === undefined ? 'Discard mine' : 'Discard mine and show theirs'}
        </button>
        <button
          type="button"
          aria-disabled={isSaving}
          onClick={() => (stored === undefined ? onAgain() : onOver(stored))}
        >
          {stored === undefined ? 'Save mine as a new dashboard' : 'Save mine over theirs'}
        </button>
      </p>
    </div>
  );
}
