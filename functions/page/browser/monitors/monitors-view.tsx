import { SearchField } from '../view/search-field';
// Keep these imports first. Other modules use the language while they load, and the bundler loads modules in the order
// of imports.
import '../language';
import '../frame/shared-file';
import { useState } from 'preact/hooks';
import type { Monitor, MonitorType } from '../../../../shared/monitors/monitor';
import type { AlertGroupSetting } from '../../../../shared/monitors/notification-group';
import '../forms/form-style';
import { filtersWith, hasWords, OpenCount } from '../forms/lists';
import { ObjectEditor, withoutId } from '../forms/object-editor';
import { useObjects } from '../forms/use-objects';
import { countedBy, useOpenAlerts } from '../forms/use-open-alerts';
import { useServices } from '../forms/use-services';
import type { ViewProps } from '../frame/views';
import { Breakable } from '../view/breakable';
import { Choice } from '../view/choice';
import { counted } from '../view/format';
import { encodeState, type ViewState } from '../view/view-state';
import { AlertGroupEditor, AlertGroups } from './alert-groups';
import { monitorFields, NEW_TYPES, newItem, newMonitor, TYPE_TEXTS } from './monitor-fields';
import { conditionText, monitorName, whereText } from './monitor-text';
import { Preview } from './preview';

/** Lists monitors and settings of alert groups, or edits one. */
export function MonitorsView(props: ViewProps) {
  const { api, state, lists, onSettled, onChange } = props;
  const [changes, setChanges] = useState(0);
  const [problem, setProblem] = useState<string>();
  const noteSettled: ViewProps['onSettled'] = (error) => {
    setProblem(error?.message);
    if (error?.kind !== 'refused') onSettled(error);
  };
  const monitors = useObjects(api, 'monitors', changes, noteSettled);
  const settings = useObjects(api, 'alertGroupSettings', changes, noteSettled);
  const services = useServices(api, noteSettled);
  const alerts = useOpenAlerts(api, noteSettled) ?? [];
  const isRead = monitors !== undefined && settings !== undefined;
  const onDone = () => {
    setChanges((count) => count + 1);
    onChange({ item: undefined });
  };
  const { item } = state;
  const edited = isRead ? editedOf(item, monitors, settings) : undefined;
  const listHref = `#${encodeState({ ...state, item: undefined })}`;
  const common = { api, services, utc: state.utc, listHref, onDone };
  return (
    <section class="objects" aria-busy={!isRead && problem === undefined}>
      <h1 class="heading">Monitors</h1>
      {problem !== undefined && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {!isRead ? (
        problem === undefined && <p class="note">reading …</p>
      ) : edited?.kind === 'monitor' ? (
        <ObjectEditor
          {...common}
          key={item}
          kind="monitors"
          title={edited.monitor === undefined ? `New monitor: ${edited.type}` : monitorName(edited.monitor)}
          object={edited.monitor === undefined ? newMonitor(edited.type) : withoutId(edited.monitor)}
          id={edited.monitor?.id}
          fields={monitorFields(edited.type, services)}
          listTitle="All monitors"
          deleteQuestion="Delete the monitor? Its open alerts close."
        >
          {(draft) => (
            <>
              {edited.type === 'anomalyDetection' || edited.type === 'external' ? (
                <p class="note">
                  Monitors of type {edited.type} cannot be previewed: they do not use stored samples.
                </p>
              ) : (
                <Preview
                  api={api}
                  monitor={draft}
                  id={edited.monitor?.id}
                  hosts={lists?.hosts ?? []}
                  utc={state.utc}
                />
              )}
            </>
          )}
        </ObjectEditor>
      ) : edited?.kind === 'setting' ? (
        <AlertGroupEditor {...common} key={item} setting={edited.setting} monitors={monitors} />
      ) : (
        <>
          {item !== undefined && (
            <p class="notice" role="alert">
              There is no monitor {item.slice(0, 100)}. It may have been deleted.
            </p>
          )}
          <MonitorList {...props} monitors={monitors} alertCounts={countedBy(alerts, 'monitorId')} />
          <AlertGroups state={state} settings={settings} monitors={monitors} />
        </>
      )}
    </section>
  );
}

type Edited =
  | { readonly kind: 'monitor'; readonly type: MonitorType; readonly monitor: Monitor | undefined }
  | { readonly kind: 'setting'; readonly setting: AlertGroupSetting | undefined };

function editedOf(
  item: string | undefined,
  monitors: readonly Monitor[],
  settings: readonly AlertGroupSetting[],
): Edited | undefined {
  if (item === undefined) return undefined;
  if (item === newItem('alertGroup')) return { kind: 'setting', setting: undefined };
  const type = NEW_TYPES.find((each) => item === newItem(each));
  if (type !== undefined) return { kind: 'monitor', type, monitor: undefined };
  const monitor = monitors.find(({ id }) => id === item);
  if (monitor !== undefined) return { kind: 'monitor', type: monitor.type, monitor };
  const setting = settings.find(({ id }) => id === item);
  return setting && { kind: 'setting', setting };
}

interface MonitorListProps extends ViewProps {
  readonly monitors: readonly Monitor[];
  readonly alertCounts: ReadonlyMap<string, number>;
}

function MonitorList({ state, monitors, alertCounts, onChange }: MonitorListProps) {
  const { filters } = state;
  const filter = (name: string, value: string) =>
    onChange({ filters: filtersWith(filters, name, value) }, { replace: true });
  const type = filters['monitor.type'] ?? '';
  const shown = monitors.filter((monitor) => {
    const text = `${monitorName(monitor)} ${conditionText(monitor)} ${whereText(monitor)}`;
    return (type === '' || monitor.type === type) && hasWords(text, filters['monitor.text']);
  });
  const types = [...new Set(monitors.map((monitor) => monitor.type))];
  return (
    <>
      <div class="filters">
        <SearchField
          label="Find monitors"
          value={filters['monitor.text'] ?? ''}
          onInput={(value) => filter('monitor.text', value)}
        />
        <Choice
          label="Type"
          value={type}
          options={[['', 'all'], ...types.map((each) => [each, each] as const)]}
          onChoose={(value) => filter('monitor.type', value)}
        />
        <NewMonitor state={state} />
      </div>
      {monitors.length === 0 && (
        <p class="empty-page">
          No monitors yet. Create one here, or push a file: mkr --apibase {location.origin} monitors push -F
          monitors.json
        </p>
      )}
      <p class="note" role="status">
        {shown.length === monitors.length
          ? counted(monitors.length, 'monitor')
          : `${shown.length} of ${counted(monitors.length, 'monitor')}`}
      </p>
      <ul class="list">
        {shown.map((monitor) => (
          <li key={monitor.id} class={`card object-card${monitor.isMute ? ' muted' : ''}`}>
            <header>
              <h2>
                <a href={`#${encodeState({ ...state, item: monitor.id })}`}>
                  <Breakable text={monitorName(monitor)} />
                </a>
              </h2>
              <span class="badge" title={TYPE_TEXTS[monitor.type]}>
                {monitor.type}
              </span>
              {monitor.isMute && <span class="badge">muted</span>}
              <OpenCount count={alertCounts.get(monitor.id) ?? 0} state={state} />
            </header>
            <p class="condition">
              <Breakable text={conditionText(monitor)} />
            </p>
            <p class="note">{whereText(monitor)}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

function NewMonitor({ state }: { readonly state: ViewState }) {
  return (
    <details class="new">
      <summary>New monitor</summary>
      <ul>
        {NEW_TYPES.map((type) => (
          <li key={type}>
            <a href={`#${encodeState({ ...state, item: newItem(type) })}`}>
              <b>{type}</b> {TYPE_TEXTS[type]}
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}
