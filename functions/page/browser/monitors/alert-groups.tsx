import type { Monitor } from '../../../../shared/monitors/monitor';
import type { AlertGroupSetting } from '../../../../shared/monitors/notification-group';
import type { Api } from '../api/api';
import type { ServiceRoles } from '../api/monitoring';
import type { Field } from '../forms/fields';
import { ObjectEditor, withoutId } from '../forms/object-editor';
import { roleOptions, serviceOptions } from '../forms/service-options';
import { Breakable } from '../view/breakable';
import { counted } from '../view/format';
import { encodeState, type ViewState } from '../view/view-state';
import { newItem } from './monitor-fields';
import { monitorName } from './monitor-text';

export interface AlertGroupsProps {
  readonly state: ViewState;
  readonly settings: readonly AlertGroupSetting[];
  readonly monitors: readonly Monitor[];
}

/** Lists the settings of alert groups. */
export function AlertGroups({ state, settings, monitors }: AlertGroupsProps) {
  return (
    <section aria-labelledby="alert-groups">
      <h2 id="alert-groups">Alert groups</h2>
      <p class="note">
        Stored for mkr and Terraform. They do not combine notifications.{' '}
        <a href={`#${encodeState({ ...state, item: newItem('alertGroup') })}`}>New alert group</a>
      </p>
      <ul class="list">
        {settings.map((setting) => (
          <li key={setting.id} class="card object-card">
            <header>
              <h3>
                <a href={`#${encodeState({ ...state, item: setting.id })}`}>
                  <Breakable text={setting.name} />
                </a>
              </h3>
            </header>
            <p class="note">{scopeText(setting, monitors)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function scopeText(
  { serviceScopes, roleScopes, monitorScopes, notificationInterval }: AlertGroupSetting,
  monitors: readonly Monitor[],
): string {
  const names = (monitorScopes ?? []).map((id) => {
    const monitor = monitors.find((each) => each.id === id);
    return monitor === undefined ? id : monitorName(monitor);
  });
  const all = [...names, ...(serviceScopes ?? []), ...(roleScopes ?? [])];
  const scopes = all.length === 0 ? 'all alerts' : all.join(', ');
  return notificationInterval == null
    ? scopes
    : `${scopes}, every ${counted(notificationInterval, 'minute')}`;
}

export interface AlertGroupEditorProps {
  readonly api: Api;
  readonly setting: AlertGroupSetting | undefined;
  readonly services: readonly ServiceRoles[];
  readonly monitors: readonly Monitor[];
  readonly utc: boolean;
  readonly listHref: string;
  readonly onDone: () => void;
}

export function AlertGroupEditor({ setting, services, monitors, ...common }: AlertGroupEditorProps) {
  const fields: readonly Field[] = [
    { name: 'name', kind: 'text' },
    { name: 'memo', kind: 'long' },
    { name: 'serviceScopes', kind: 'several', options: serviceOptions(services) },
    { name: 'roleScopes', kind: 'several', options: roleOptions(services) },
    {
      name: 'monitorScopes',
      kind: 'several',
      options: monitors.map((monitor) => [monitor.id, monitorName(monitor)] as const),
    },
    { name: 'notificationInterval', kind: 'number', hint: 'Minutes, at least 10.' },
  ];
  return (
    <ObjectEditor
      {...common}
      kind="alertGroupSettings"
      title={setting === undefined ? 'New alert group' : setting.name}
      object={setting === undefined ? { name: '', memo: '' } : withoutId(setting)}
      id={setting?.id}
      fields={fields}
      listTitle="All monitors"
      deleteQuestion="Delete the alert group?"
    />
  );
}
