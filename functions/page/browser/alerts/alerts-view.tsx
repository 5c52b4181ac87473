// These imports must be first, as in main.tsx: in the bundle, the modules then come before those of the file
// that both share.
import '../language';
import '../frame/shared-file';
import { useState } from 'preact/hooks';
import type { Alert } from '../api/alerting';
import { useNow } from '../frame/polling';
import type { ViewProps } from '../frame/views';
import { useMetadata } from '../graphs/use-metadata';
import { counted, formatCount, formatDuration, formatTime } from '../view/format';
import { AlertCard } from './alert-card';
import { evaluatedAtS, type ListedAlert, lateGroups, listAlerts, silenceOf } from './listed-alerts';
import { NoRules } from './no-rules';
import { RuleGroups } from './rule-groups';
import { type Alerting, useAlerting } from './use-alerting';

/** Interval at which the view updates the present time, in seconds. */
const CLOCK_S = 15;

/** Shows firing, pending and resolved alerts, and the rules. */
export function AlertsView(props: ViewProps) {
  const { api, onAnswer, onListsChanged } = props;
  const [changes, setChanges] = useState(0);
  const [problem, setProblem] = useState<string>();
  const alerting = useAlerting(api, changes, (error) => {
    setProblem(error?.message);
    if (error?.kind !== 'refused') onAnswer(error);
  });
  const onSilenced = () => {
    setChanges((count) => count + 1);
    // Refreshes the counter in the header.
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
      ) : alerting.groups.length === 0 ? (
        <NoRules />
      ) : (
        <Overview {...props} alerting={alerting} onSilenced={onSilenced} />
      )}
    </section>
  );
}

const SECTIONS: readonly (readonly [Alert['state'], string])[] = [
  ['firing', 'Firing'],
  ['pending', 'Pending'],
  ['resolved', 'Resolved in the last 15 minutes'],
];
/** Most alerts of one state that are shown, since nobody reads a list of thousands. */
const MAX_SHOWN = 100;

interface OverviewProps extends ViewProps {
  readonly alerting: Alerting;
  readonly onSilenced: () => void;
}

function Overview(props: OverviewProps) {
  const { api, state, alerting, onChange } = props;
  const { groups, silences } = alerting;
  const nowS = useNow(CLOCK_S);
  const metadata = useMetadata(api);
  const listed = listAlerts(groups);
  // If the address names no alert, open the one that was first when the view opened. Opening each new first
  // alert would push the one that is being read away.
  const [first] = useState(() => (listed.firing[0] ?? listed.pending[0])?.id);
  const open = state.alerts ?? (first === undefined ? [] : [first]);
  const toggle = (id: string) =>
    onChange(
      { alerts: open.includes(id) ? open.filter((each) => each !== id) : [...open, id] },
      { replace: true },
    );
  return (
    <>
      <Late groups={groups} nowS={nowS} utc={state.utc} />
      {listed.firing.length + listed.pending.length === 0 && (
        <p class="card">No alert fires, and none is pending.</p>
      )}
      {SECTIONS.map(
        ([name, title]) =>
          listed[name].length > 0 && (
            <section key={name} aria-labelledby={`alerts-${name}`}>
              <h2 id={`alerts-${name}`}>
                {title} <small>{formatCount(listed[name].length)}</small>
              </h2>
              <ul>
                {listed[name].slice(0, MAX_SHOWN).map((each) => (
                  <li key={idIn(each)}>
                    <AlertCard
                      {...props}
                      listed={each}
                      silence={silenceOf(each.alert, silences)}
                      metadata={metadata}
                      nowS={nowS}
                      isOpen={open.includes(each.id)}
                      onToggle={() => toggle(each.id)}
                    />
                  </li>
                ))}
              </ul>
              {listed[name].length > MAX_SHOWN && (
                <p class="note">
                  The latest {MAX_SHOWN} of {counted(listed[name].length, 'alert')} are shown.
                </p>
              )}
            </section>
          ),
      )}
      <RuleGroups groups={groups} nowS={nowS} utc={state.utc} />
    </>
  );
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
