import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import type { AlertLog, AlertRecord } from '../../../../shared/monitors/alert-record';
import type { Monitor } from '../../../../shared/monitors/monitor';
import type { Host } from '../api/api';
import { readAlertLog, readCheckName } from '../api/monitoring';
import { seriesText } from '../api/promql-results';
import type { ViewProps } from '../frame/views';
import { alertName, conditionText, drawnThresholds, monitorName } from '../monitors/monitor-text';
import { hostName } from '../side/host-text';
import { Breakable } from '../view/breakable';
import { formatDuration, formatTime, formatValue } from '../view/format';
import { encodeState, INITIAL_STATE } from '../view/view-state';
import { AlertGraph } from './alert-graph';
import { CloseForm } from './close-form';
import { queryOfMonitorAlert } from './monitor-alert-query';

export interface MonitorAlertCardProps extends Pick<ViewProps, 'api' | 'state' | 'returns' | 'onSettled'> {
  readonly alert: AlertRecord;
  /** The alert's monitor; undefined for a check, and for a deleted monitor. */
  readonly monitor: Monitor | undefined;
  readonly hosts: readonly Host[];
  readonly nowS: number;
  readonly isExpanded: boolean;
  readonly onToggle: () => void;
  readonly onClosed: () => void;
}

/**
 * The card of an alert of a monitor or a check. An expanded card also has a graph, the alert's log and a form
 * that closes the alert.
 */
export function MonitorAlertCard(props: MonitorAlertCardProps) {
  const { api, state, alert, monitor, hosts, nowS, isExpanded, onToggle, onClosed } = props;
  const [titleId, detailsId] = [useId(), useId()];
  const checkName = useCheckName(props);
  const host = hosts.find(({ id }) => id === alert.hostId);
  const isEnded = alert.closedAt !== undefined;
  const spent = (fromS: number) => formatDuration(Math.max(0, nowS - fromS) * 1000);
  const status = alert.status.toLowerCase();
  return (
    <article
      class={`card alert monitor ${isEnded ? 'resolved' : status === 'warning' ? 'pending' : 'firing'}`}
      aria-labelledby={titleId}
    >
      <header>
        <h3 id={titleId}>
          <button type="button" aria-expanded={isExpanded} aria-controls={detailsId} onClick={onToggle}>
            <Breakable text={monitor === undefined ? checkName : alertName(monitor, alert)} />
          </button>
        </h3>
        <ul class="labels" aria-label="Subject">
          <li>{isEnded ? 'closed' : status}</li>
          {alert.hostId !== undefined && (
            <li>
              <a
                href={`#${encodeState({ ...INITIAL_STATE, utc: state.utc, source: { kind: 'host', id: alert.hostId } })}`}
              >
                {host === undefined ? alert.hostId : hostName(host)}
              </a>
            </li>
          )}
          {host !== undefined &&
            Object.entries(host.roles).map(([service, roles]) => (
              <li key={service}>
                <span>{service}</span> {roles.join(', ')}
              </li>
            ))}
          {alert.series !== undefined && (
            <li>
              <Breakable text={seriesText({ __name__: alert.series.name, ...alert.series.labels })} />
            </li>
          )}
        </ul>
        <p class="since">
          {isEnded ? `closed ${spent(alert.closedAt!)} ago` : `open for ${spent(alert.openedAt)}`}{' '}
          <span>
            {isEnded ? 'at' : 'since'} {formatTime(alert.closedAt ?? alert.openedAt, state.utc)}
          </span>
        </p>
      </header>
      <p class="why">
        <Breakable text={whyText(alert, monitor)} />
      </p>
      {alert.reason && <p class="summary">Closed by hand: {alert.reason}</p>}
      {alert.memo && <p class="summary">{alert.memo}</p>}
      <div id={detailsId} hidden={!isExpanded}>
        {isExpanded && (
          <div class="details">
            {monitor?.memo && <p class="summary">{monitor.memo}</p>}
            <MonitorAlertGraph {...props} />
            <Log api={api} alert={alert} utc={state.utc} />
            {monitor !== undefined && (
              <p class="note">
                <a href={`#${encodeState({ ...state, view: 'monitors', item: monitor.id })}`}>
                  The monitor {monitorName(monitor)}
                </a>
              </p>
            )}
            {!isEnded && <CloseForm api={api} id={alert.id} onClosed={onClosed} />}
          </div>
        )}
      </div>
    </article>
  );
}

/** Explains an alert: its value or message, and the condition of its monitor. */
function whyText({ value, message }: AlertRecord, monitor: Monitor | undefined): string {
  const found = [
    ...(message === undefined || message === '' ? [] : [message]),
    ...(value === undefined ? [] : [formatValue(value, 'float')]),
  ].join(', ');
  const judged = monitor === undefined ? '' : conditionText(monitor);
  return [found, judged].filter((text) => text !== '').join(' – ');
}

/** Reads the name of an alert's check. Returns the monitor id for other alerts, and if the name cannot be read. */
function useCheckName({ api, alert: { type, monitorId } }: MonitorAlertCardProps): string {
  const [name, setName] = useState<string>();
  useEffect(() => {
    if (type === 'check') readCheckName(api, monitorId).then(setName, () => setName(monitorId));
  }, [api, type, monitorId]);
  return name ?? (type === 'check' ? 'reading …' : monitorId);
}

function MonitorAlertGraph({ alert, monitor, hosts, ...props }: MonitorAlertCardProps) {
  const query = useMemo(() => queryOfMonitorAlert(alert, monitor, hosts), [alert, monitor, hosts]);
  if (query === undefined) return null;
  const { warning, critical } = drawnThresholds(
    monitor?.type === 'external'
      ? { warning: monitor.responseTimeWarning, critical: monitor.responseTimeCritical }
      : monitor!,
  );
  return (
    <AlertGraph
      {...props}
      query={query}
      title={'metric' in monitor! ? monitor.metric : query}
      unit={monitor!.type === 'external' ? 'milliseconds' : 'float'}
      active={{ fromS: alert.openedAt, toS: alert.closedAt ?? props.nowS }}
      isWarning={alert.status === 'WARNING'}
      warning={warning ?? undefined}
      threshold={critical ?? undefined}
      text="Shaded: the alert is open. Dashed: thresholds."
    />
  );
}

interface LogProps extends Pick<MonitorAlertCardProps, 'api' | 'alert'> {
  readonly utc: boolean;
}

/** Lists the changes of an alert, newest first. */
function Log({ api, alert, utc }: LogProps) {
  const [log, setLog] = useState<readonly AlertLog[]>();
  useEffect(() => {
    // If the log cannot be read, the card shows none. When the alert changes, the card reads the log again.
    readAlertLog(api, alert.id).then(setLog, () => {});
  }, [api, alert.id, alert.status]);
  if (log === undefined || log.length === 0) return null;
  return (
    <ul class="log" aria-label="Log">
      {log.map(({ id, createdAt, status, trigger, targetValue, statusDetail }) => (
        <li key={id}>
          <time>{formatTime(createdAt, utc)}</time> <b>{status}</b>
          {targetValue !== null && ` ${formatValue(targetValue, 'float')}`}
          {statusDetail !== null && ` ${statusDetail.detail.message}`}
          {trigger !== 'monitoring' && ` (${trigger})`}
        </li>
      ))}
    </ul>
  );
}
