import { useId } from 'preact/hooks';
import type { Silence } from '../api/alerting';
import type { ViewProps } from '../frame/views';
import type { Metadata } from '../graphs/metadata';
import { unitOfQuery } from '../graphs/query-unit';
import { Breakable } from '../view/breakable';
import { formatDuration, formatTime } from '../view/format';
import { AlertGraph } from './alert-graph';
import { activeSpan, queryOfAlert } from './alert-query';
import { changedAtS, type ListedAlert } from './listed-alerts';
import { reasonOf } from './reason';
import { SilenceForm } from './silence-form';
import { SilenceNote } from './silence-note';

export interface AlertCardProps extends Pick<ViewProps, 'api' | 'state' | 'returns' | 'onSettled'> {
  readonly listed: ListedAlert;
  readonly silence: Silence | undefined;
  /** Metadata of metrics; undefined until they have been read. */
  readonly metadata: Metadata | undefined;
  readonly nowS: number;
  readonly isExpanded: boolean;
  readonly onToggle: () => void;
  readonly onSilenced: () => void;
}

/**
 * The card of a rule's alert: its labels, when it became active or was resolved, and its cause. An expanded
 * card also has a graph, the annotations and a form for silencing the alert.
 */
export function AlertCard(props: AlertCardProps) {
  const { api, state, listed, silence, metadata, nowS, isExpanded, onToggle, onSilenced } = props;
  const { alert, rule, group } = listed;
  const [titleId, detailsId] = [useId(), useId()];
  const sinceS = changedAtS(alert);
  const spent = formatDuration(Math.max(0, nowS - sinceS) * 1000);
  const query = rule.condition?.query ?? rule.query;
  const unit = unitOfQuery(query, metadata);
  return (
    <article
      class={`card alert ${alert.state}${silence === undefined ? '' : ' silenced'}`}
      aria-labelledby={titleId}
    >
      <header>
        <h3 id={titleId}>
          <button type="button" aria-expanded={isExpanded} aria-controls={detailsId} onClick={onToggle}>
            <Breakable text={alert.labels.alertname ?? rule.name} />
          </button>
        </h3>
        <ul class="labels" aria-label="Labels">
          {Object.entries(alert.labels)
            .filter(([name]) => name !== 'alertname')
            .map(([name, value]) => (
              <li key={name}>
                <span>{name}</span> <Breakable text={value} />
              </li>
            ))}
        </ul>
        <p class="since">
          {alert.state === 'resolved' ? `resolved ${spent} ago` : `${alert.state} for ${spent}`}{' '}
          <span>
            {alert.state === 'resolved' ? 'at' : 'since'} {formatTime(sinceS, state.utc)}
          </span>
        </p>
      </header>
      {Object.hasOwn(alert.annotations, 'summary') && <p class="summary">{alert.annotations.summary}</p>}
      {reasonOf(listed, unit, state.utc).map((reason) => (
        <p key={reason} class="why">
          <Breakable text={reason} />
        </p>
      ))}
      {silence !== undefined && (
        <SilenceNote api={api} silence={silence} utc={state.utc} onEnded={onSilenced} />
      )}
      <div id={detailsId} hidden={!isExpanded}>
        {isExpanded && (
          <div class="details">
            <Texts annotations={alert.annotations} />
            <AlertGraph
              {...props}
              query={queryOfAlert(listed)}
              explored={query}
              title={query}
              unit={unit}
              active={activeSpan(listed, nowS)}
              threshold={rule.condition?.kind === 'threshold' ? rule.condition.threshold : undefined}
              text={graphText(listed, nowS, state.utc)}
            />
            <p class="note">
              Rule {rule.name} of the group {group.name} in {group.file}.
            </p>
            {silence === undefined && alert.state !== 'resolved' && (
              <SilenceForm api={api} labels={alert.labels} onSilenced={onSilenced} />
            )}
          </div>
        )}
      </div>
    </article>
  );
}

/** Returns a text that explains the shaded span and the dashed lines in an alert's graph. */
function graphText(listed: ListedAlert, nowS: number, utc: boolean): string {
  const { condition } = listed.rule;
  const active = activeSpan(listed, nowS);
  const end = listed.alert.state === 'resolved' ? ` to ${formatTime(active.toS, utc)}` : '';
  const dashed =
    condition?.kind === 'threshold' ? ` Dashed: ${condition.threshold}, which the rule compares with.` : '';
  return `Shaded: active from ${formatTime(active.fromS, utc)}${end}.${dashed}`;
}

/** Shows all annotations except the summary, which is always shown. */
function Texts({ annotations }: Pick<ListedAlert['alert'], 'annotations'>) {
  const texts = Object.entries(annotations).filter(([name]) => name !== 'summary');
  if (texts.length === 0) return null;
  return (
    <dl>
      {texts.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {/^https?:\/\//.test(text) ? (
              <a href={text} rel="noreferrer">
                <Breakable text={text} />
              </a>
            ) : (
              text
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
