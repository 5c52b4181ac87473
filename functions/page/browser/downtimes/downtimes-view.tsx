// Keep these imports first. Other modules use the language while they load, and the bundler loads modules in the order
// of imports.
import '../language';
import '../frame/shared-file';
import '../forms/form-style';
import { useState } from 'preact/hooks';
import type { Downtime } from '../../../../shared/monitors/downtime';
import { holdsAt } from '../../../../shared/monitors/downtime-times';
import type { Monitor } from '../../../../shared/monitors/monitor';
import { WEEKDAYS } from '../../../../shared/monitors/weekdays';
import type { ServiceRoles } from '../api/monitoring';
import type { Field } from '../forms/fields';
import { ObjectEditor, withoutId } from '../forms/object-editor';
import { roleOptions, serviceOptions } from '../forms/service-options';
import { useObjects } from '../forms/use-objects';
import { useServices } from '../forms/use-services';
import { useNow } from '../frame/polling';
import type { ViewProps } from '../frame/views';
import { monitorName } from '../monitors/monitor-text';
import { Breakable } from '../view/breakable';
import { encodeState } from '../view/view-state';
import { type DowntimeState, scopesText, stateOf, timesText } from './downtime-text';

const NEW = 'new';
/** Interval at which the view refreshes the current time, in seconds. */
const CLOCK_S = 15;

/** Lists downtimes, or edits one. */
export function DowntimesView(props: ViewProps) {
  const { api, state, onSettled, onChange } = props;
  const [changes, setChanges] = useState(0);
  const [problem, setProblem] = useState<string>();
  const noteSettled: ViewProps['onSettled'] = (error) => {
    setProblem(error?.message);
    if (error?.kind !== 'refused') onSettled(error);
  };
  const downtimes = useObjects(api, 'downtimes', changes, noteSettled);
  const monitors = useObjects(api, 'monitors', 0, noteSettled) ?? [];
  const services = useServices(api, noteSettled);
  const { item } = state;
  const edited = downtimes?.find(({ id }) => id === item);
  return (
    <section class="objects" aria-busy={downtimes === undefined && problem === undefined}>
      <h1 class="heading">Downtimes</h1>
      {problem !== undefined && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {downtimes === undefined ? (
        problem === undefined && <p class="note">reading …</p>
      ) : item === NEW || edited !== undefined ? (
        <ObjectEditor
          api={api}
          key={item}
          kind="downtimes"
          title={edited?.name ?? 'New downtime'}
          object={edited === undefined ? newDowntime() : withoutId(edited)}
          id={edited?.id}
          fields={downtimeFields(services, monitors)}
          utc={state.utc}
          listHref={`#${encodeState({ ...state, item: undefined })}`}
          listTitle="All downtimes"
          deleteQuestion="Delete the downtime? Alerts can then open again."
          onDone={() => {
            setChanges((count) => count + 1);
            onChange({ item: undefined });
          }}
        />
      ) : (
        <>
          {item !== undefined && (
            <p class="notice" role="alert">
              There is no downtime {item.slice(0, 100)}. It may have been deleted.
            </p>
          )}
          <DowntimeList {...props} downtimes={downtimes} monitors={monitors} />
        </>
      )}
    </section>
  );
}

const SECTIONS: readonly (readonly [DowntimeState, string])[] = [
  ['now', 'Now'],
  ['coming', 'Coming'],
  ['over', 'Over'],
];

interface DowntimeListProps extends ViewProps {
  readonly downtimes: readonly Downtime[];
  readonly monitors: readonly Monitor[];
}

function DowntimeList({ state, downtimes, monitors }: DowntimeListProps) {
  const nowS = useNow(CLOCK_S);
  const nameOf = (id: string) => {
    const monitor = monitors.find((each) => each.id === id);
    return monitor === undefined ? id : monitorName(monitor);
  };
  const sorted = [...downtimes].sort((a, b) => a.start - b.start);
  const byState = Map.groupBy(sorted, (downtime) => stateOf(downtime, nowS, holdsAt(downtime, nowS * 1000)));
  return (
    <>
      <p class="buttons">
        <a class="button" href={`#${encodeState({ ...state, item: NEW })}`}>
          New downtime
        </a>
        <span class="note">
          During a downtime, no alert opens within its scope, and open alerts are not notified again.
        </span>
      </p>
      {downtimes.length === 0 && <p class="empty-page">No downtimes yet.</p>}
      {SECTIONS.map(
        ([name, title]) =>
          byState.has(name) && (
            <section key={name} aria-labelledby={`downtimes-${name}`}>
              <h2 id={`downtimes-${name}`}>{title}</h2>
              <ul class="list">
                {byState.get(name)!.map((downtime) => (
                  <li key={downtime.id} class={`card object-card ${name}`}>
                    <header>
                      <h3>
                        <a href={`#${encodeState({ ...state, item: downtime.id })}`}>
                          <Breakable text={downtime.name} />
                        </a>
                      </h3>
                    </header>
                    <p>{timesText(downtime, state.utc)}</p>
                    <p class="note">{scopesText(downtime, nameOf)}</p>
                    {downtime.memo && <p class="note">{downtime.memo}</p>}
                  </li>
                ))}
              </ul>
            </section>
          ),
      )}
    </>
  );
}

/** Returns a new one-hour downtime that begins now. */
function newDowntime() {
  return { name: '', memo: '', start: Math.floor(Date.now() / 60_000) * 60, duration: 60 };
}

function downtimeFields(services: readonly ServiceRoles[], monitors: readonly Monitor[]): readonly Field[] {
  const ofMonitors = monitors.map((monitor) => [monitor.id, monitorName(monitor)] as const);
  const scopes = (name: string, options: Field['options'], hint?: string): Field => ({
    name,
    kind: 'several',
    options: options ?? [],
    ...(hint !== undefined && { hint }),
  });
  return [
    { name: 'name', kind: 'text' },
    { name: 'memo', kind: 'long' },
    { name: 'start', kind: 'time' },
    { name: 'duration', kind: 'number', hint: 'Minutes.' },
    {
      name: 'recurrence.type',
      kind: 'choice',
      isOptional: true,
      options: ['hourly', 'daily', 'weekly', 'monthly', 'yearly'].map((type) => [type, type] as const),
      hint: 'Empty: once. Days, weeks and months are in UTC.',
    },
    {
      name: 'recurrence.interval',
      kind: 'number',
      hint: 'Hours, days, weeks ... from one start to the next; 1 or more.',
    },
    {
      name: 'recurrence.weekdays',
      kind: 'several',
      options: WEEKDAYS.map((day) => [day, day] as const),
      hint: 'Weekly downtimes only. None: the weekday of the start.',
    },
    { name: 'recurrence.until', kind: 'time', hint: 'No downtime begins after this time. Empty: no end.' },
    scopes(
      'serviceScopes',
      serviceOptions(services),
      'No scopes: everything. Of each kind of scope that you give, one must match.',
    ),
    scopes('serviceExcludeScopes', serviceOptions(services)),
    scopes('roleScopes', roleOptions(services)),
    scopes('roleExcludeScopes', roleOptions(services)),
    scopes('monitorScopes', ofMonitors),
    scopes('monitorExcludeScopes', ofMonitors),
  ];
}
