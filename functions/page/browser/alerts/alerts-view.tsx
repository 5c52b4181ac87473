import type { AlertRecord } from '../../../../shared/monitors/alert-record';
// Keep these imports first. Other modules use the language while they load, and the bundler loads modules in the order
// of imports.
import '../language';
import '../frame/shared-file';
import { useState } from 'preact/hooks';
import type { Alert } from '../api/alerting';
import { addStyle } from '../forms/add-style';
import { useNow } from '../frame/polling';
import type { ViewProps } from '../frame/views';
import { useMetadata } from '../graphs/use-metadata';
import { counted, formatCount, formatDuration, formatTime } from '../view/format';
import { AlertCard } from './alert-card';
import rules from './alerts.css' with { type: 'text' };
import {
  changedAtS,
  evaluatedAtS,
  type ListedAlert,
  lateGroups,
  listAlerts,
  silenceOf,
} from './listed-alerts';
import { MonitorAlertCard } from './monitor-alert-card';
import { NoRules } from './no-rules';
import { RuleGroups } from './rule-groups';
import { type Alerting, useAlerting } from './use-alerting';

addStyle(rules);

/** Interval at which the view refreshes the current time, in seconds. */
const CLOCK_S = 15;

/** Shows the alerts of rules, monitors and checks in one list, and the rules. */
export function AlertsView(props: ViewProps) {
  const { api, state, onSettled, onListsChanged } = props;
  const [changes, setChanges] = useState(0);
  const [problem, setProblem] = useState<string>();
  const alerting = useAlerting(api, state.alerts ?? [], changes, (error) => {
    setProblem(error?.message);
    if (error?.kind !== 'refused') onSettled(error);
  });
  const onChanged = () => {
    setChanges((count) => count + 1);
    // Refresh the counter in the header.
    onListsChanged();
  };
  return (
    <section class="alerts" aria-busy={alerting === undefined && problem === undefined}>
      <h1 class="heading">Alerts</h1>
      {problem !== undefined && (
        <p class="notice" role="alert">
          {problem}
        </p>
      )}
      {alerting === undefined ? (
        problem === undefined && <p class="note">reading …</p>
      ) : alerting.groups.length + alerting.monitors.length + alerting.monitorAlerts.length === 0 ? (
        <NoRules />
      ) : (
        <Overview {...props} alerting={alerting} onChangedAlert={onChanged} />
      )}
    </section>
  );
}

/** Titles of the sections. `linked`: monitor alerts that the address names and that closed over 15 minutes ago. */
const SECTIONS: readonly (readonly [SectionName, string])[] = [
  ['linked', 'Closed'],
  ['firing', 'Firing'],
  ['pending', 'Pending'],
  ['resolved', 'Resolved in the last 15 minutes'],
];
type SectionName = Alert['state'] | 'linked';

/**
 * How long an alert of a monitor is listed after its end, in seconds. Alerts of rules are listed for the same
 * time.
 */
const RESOLVED_S = 900;
/** Maximum number of alerts that a section shows, since nobody reads a list of thousands. */
const MAX_SHOWN = 100;

interface OverviewProps extends ViewProps {
  readonly alerting: Alerting;
  /** Called after an alert was silenced or closed, or a silence ended. */
  readonly onChangedAlert: () => void;
}

/** An entry of the list: an alert of a rule, or of a monitor or check. */
type Entry =
  | { readonly kind: 'rule'; readonly id: string; readonly changedS: number; readonly listed: ListedAlert }
  | {
      readonly kind: 'monitor';
      readonly id: string;
      readonly changedS: number;
      readonly alert: AlertRecord;
    };

/** Lists the alerts of both kinds by section, the latest of each section first. */
function sectionsOf(
  { groups, monitorAlerts }: Alerting,
  named: readonly string[],
  nowS: number,
): Readonly<Record<SectionName, readonly Entry[]>> {
  const ofRules = listAlerts(groups);
  const ruleEntries = (name: Alert['state']): Entry[] =>
    ofRules[name].map((listed) => ({
      kind: 'rule',
      id: listed.id,
      changedS: changedAtS(listed.alert),
      listed,
    }));
  const entries = monitorAlerts.map(
    (alert): Entry => ({ kind: 'monitor', id: alert.id, changedS: alert.closedAt ?? alert.openedAt, alert }),
  );
  const isClosed = (entry: Entry) => entry.kind === 'monitor' && entry.alert.closedAt !== undefined;
  const closed = entries.filter(isClosed);
  const isLinked = ({ id, changedS }: Entry) => named.includes(id) && nowS - changedS > RESOLVED_S;
  const sorted = (...parts: readonly Entry[][]) => parts.flat().sort((a, b) => b.changedS - a.changedS);
  return {
    linked: sorted(closed.filter(isLinked)),
    firing: sorted(
      ruleEntries('firing'),
      entries.filter((entry) => !isClosed(entry)),
    ),
    pending: sorted(ruleEntries('pending')),
    resolved: sorted(
      ruleEntries('resolved'),
      closed.filter(({ changedS }) => nowS - changedS <= RESOLVED_S),
    ),
  };
}

function Overview(props: OverviewProps) {
  const { api, state, alerting, onChange } = props;
  const { groups, silences, monitors, unknownIds } = alerting;
  const nowS = useNow(CLOCK_S);
  const metadata = useMetadata(api);
  const listed = sectionsOf(alerting, state.alerts ?? [], nowS);
  // If the address names no alert, expand the alert that was first when the view opened. It stays expanded when a
  // newer alert becomes the first: expanding the newer one instead would push away the alert that the user is
  // reading.
  const [first] = useState(() => (listed.firing[0] ?? listed.pending[0])?.id);
  const expanded = state.alerts ?? (first === undefined ? [] : [first]);
  const toggle = (id: string) =>
    onChange(
      { alerts: expanded.includes(id) ? expanded.filter((each) => each !== id) : [...expanded, id] },
      { replace: true },
    );
  return (
    <>
      {unknownIds.map((id) => (
        <p key={id} class="notice" role="alert">
          There is no alert {id.slice(0, 100)}. It may have ended long ago.
        </p>
      ))}
      <Late groups={groups} nowS={nowS} utc={state.utc} />
      {listed.firing.length + listed.pending.length === 0 && (
        <p class="card">No alerts are firing or pending.</p>
      )}
      {SECTIONS.map(
        ([name, title]) =>
          listed[name].length > 0 && (
            <section key={name} aria-labelledby={`alerts-${name}`}>
              <h2 id={`alerts-${name}`}>
                {title} <small>{formatCount(listed[name].length)}</small>
              </h2>
              <ul>
                {shownOf(listed[name], expanded).map((each) => {
                  const shared = {
                    nowS,
                    isExpanded: expanded.includes(each.id),
                    onToggle: () => toggle(each.id),
                  };
                  return each.kind === 'rule' ? (
                    <li key={idIn(each.listed)}>
                      <AlertCard
                        {...props}
                        {...shared}
                        listed={each.listed}
                        silence={silenceOf(each.listed.alert, silences)}
                        metadata={metadata}
                        onSilenced={props.onChangedAlert}
                      />
                    </li>
                  ) : (
                    <li key={each.id}>
                      <MonitorAlertCard
                        {...props}
                        {...shared}
                        alert={each.alert}
                        monitor={monitors.find(({ id }) => id === each.alert.monitorId)}
                        hosts={props.lists?.hosts ?? []}
                        onClosed={props.onChangedAlert}
                      />
                    </li>
                  );
                })}
              </ul>
              {listed[name].length > MAX_SHOWN && (
                <p class="note">
                  The latest {MAX_SHOWN} of {counted(listed[name].length, 'alert')} are shown.
                </p>
              )}
            </section>
          ),
      )}
      {groups.length > 0 && <RuleGroups groups={groups} nowS={nowS} utc={state.utc} />}
    </>
  );
}

/** Returns the first entries of a list, and every expanded entry, such as one that a link expanded. */
function shownOf(entries: readonly Entry[], expanded: readonly string[]): readonly Entry[] {
  return entries.filter(({ id }, i) => i < MAX_SHOWN || expanded.includes(id));
}

/** Returns a key that is unique in a list. Two rules may have alerts with the same labels. */
function idIn({ id, rule, group }: ListedAlert): string {
  return JSON.stringify([group.file, group.name, rule.name, rule.query, id]);
}

function Late({
  groups,
  nowS,
  utc,
}: Pick<Alerting, 'groups'> & { readonly nowS: number; readonly utc: boolean }) {
  const late = lateGroups(groups, nowS);
  const lastS = Math.max(...late.map(({ lastEvaluation }) => evaluatedAtS(lastEvaluation) ?? 0));
  if (late.length === 0) return null;
  return (
    <p class="notice" role="alert">
      {counted(late.length, 'group')} of rules {late.length === 1 ? 'was' : 'were'} last evaluated{' '}
      {formatDuration((nowS - lastS) * 1000)} ago, at {formatTime(lastS, utc)}. What you see may have changed
      since.
    </p>
  );
}
