import type { AlertRecord } from '../../../../shared/monitors/alert-record';
import { withLabelValues } from '../../../../shared/monitors/label-placeholders';
import type { Monitor } from '../../../../shared/monitors/monitor';

export function monitorName({ name, type }: Pick<Monitor, 'name' | 'type'>): string {
  return name ?? type;
}

/**
 * Returns a monitor's name as its alert shows it. For a query monitor, the name includes the values of the series'
 * labels.
 */
export function alertName(monitor: Monitor, { series }: Pick<AlertRecord, 'series'>): string {
  const name = monitorName(monitor);
  return monitor.type === 'query' ? withLabelValues(name, series?.labels ?? {}) : name;
}

/** Describes in one line what a monitor judges. */
export function conditionText(monitor: Monitor): string {
  switch (monitor.type) {
    case 'connectivity':
      return `${monitor.alertStatusOnGone ?? 'CRITICAL'} when a host has posted nothing for 10 minutes`;
    case 'host':
      return `${monitor.metric} ${thresholdsText(monitor)}${pointsText(monitor)}`;
    case 'service': {
      const { missingDurationWarning: warning, missingDurationCritical: critical } = monitor;
      const missing = [
        ...(warning == null ? [] : [`WARNING without points for ${warning} min`]),
        ...(critical == null ? [] : [`CRITICAL without points for ${critical} min`]),
      ];
      const judged = [thresholdsText(monitor) + pointsText(monitor), ...missing].filter(
        (text) => text !== '',
      );
      return `${monitor.metric} ${judged.join(', ')}`;
    }
    case 'external':
      return [
        `${monitor.method ?? 'GET'} ${monitor.url}`,
        thresholdsText({
          operator: '>',
          warning: monitor.responseTimeWarning,
          critical: monitor.responseTimeCritical,
          unit: ' ms',
        }),
      ]
        .filter((text) => text !== '')
        .join(' ');
    case 'expression':
      return `${monitor.expression} ${thresholdsText(monitor)}`;
    case 'query':
      return `${monitor.query} ${thresholdsText(monitor)}`;
    case 'anomalyDetection':
      return 'unusual values: stored, not evaluated here';
  }
}

export interface Compared {
  readonly operator?: '>' | '<' | null | undefined;
  readonly warning?: number | null | undefined;
  readonly critical?: number | null | undefined;
  readonly unit?: string;
}

/** Formats thresholds, such as `> 3 WARNING, > 5 CRITICAL`; empty if there are none. */
function thresholdsText({ operator, warning, critical, unit = '' }: Compared): string {
  const text = (value: number | null | undefined, status: string) =>
    value == null ? [] : [`${operator ?? '>'} ${value}${unit} ${status}`];
  return [...text(warning, 'WARNING'), ...text(critical, 'CRITICAL')].join(', ');
}

function pointsText(monitor: {
  readonly duration?: number | null;
  readonly maxCheckAttempts?: number | null;
}): string {
  const { duration, maxCheckAttempts } = monitor;
  const average = duration != null && duration > 1 ? `, average of ${duration} points` : '';
  return maxCheckAttempts != null && maxCheckAttempts > 1
    ? `${average}, ${maxCheckAttempts} in a row`
    : average;
}

/** Describes the hosts, services or URL that a monitor watches. */
export function whereText(monitor: Monitor): string {
  switch (monitor.type) {
    case 'connectivity':
    case 'host':
    case 'anomalyDetection': {
      const { scopes } = monitor;
      const excluded = 'excludeScopes' in monitor ? (monitor.excludeScopes ?? []) : [];
      const where = (scopes ?? []).length === 0 ? 'all hosts' : scopes!.join(', ');
      return excluded.length === 0 ? where : `${where}, except ${excluded.join(', ')}`;
    }
    case 'service':
      return `service ${monitor.service}`;
    case 'external':
      return monitor.service ? `service ${monitor.service}` : '';
    default:
      return '';
  }
}

/** Returns the thresholds that a graph of a monitor shows. */
export function drawnThresholds(monitor: object): Pick<Compared, 'warning' | 'critical'> {
  const { warning, critical } = monitor as Compared;
  return {
    ...(typeof warning === 'number' && { warning }),
    ...(typeof critical === 'number' && { critical }),
  };
}
