import { METRIC_NAME } from '../model/labels';
import type { RegisteredHost } from '../registry/host-labels';
import type { Service } from '../registry/services';
import type { AlertSubject } from './alert-subject';
import type { Thresholds } from './judge';
import { judgesResponseTimes, responseThresholds } from './judge-probe';
import { withLabelValues } from './label-placeholders';
import { type Monitor, monitorNameOf } from './monitor';

/** Objects of the registry that alerts refer to. */
export interface SubjectSources {
  readonly hosts: ReadonlyMap<string, RegisteredHost>;
  readonly services: readonly Service[];
}

/**
 * Describes the subject of a monitor's alert.
 *
 * @param key key of the track: a host's id for monitors of hosts, a series' labels for query monitors
 */
export function subjectOf(monitor: Monitor, key: string, { hosts, services }: SubjectSources): AlertSubject {
  const common = {
    type: monitor.type,
    monitorId: monitor.id,
    monitorName: monitorNameOf(monitor),
    memo: monitor.memo ?? '',
    services: [],
  };
  switch (monitor.type) {
    case 'connectivity':
    case 'anomalyDetection':
      return { ...common, ...hostPart(key, hosts.get(key)) };
    case 'host':
      return {
        ...common,
        metricLabel: monitor.metric,
        duration: monitor.duration,
        ...thresholdsOf(monitor),
        ...hostPart(key, hosts.get(key)),
      };
    case 'service': {
      const service = services.find(({ name }) => name === monitor.service);
      return {
        ...common,
        metricLabel: monitor.metric,
        ...(monitor.duration != null && { duration: monitor.duration }),
        ...thresholdsOf(monitor),
        ...(service !== undefined && {
          service: { ...pick(service), roles: service.roles.map(({ name }) => name) },
        }),
        services: [monitor.service],
      };
    }
    case 'expression':
      return { ...common, metricLabel: monitor.expression, ...thresholdsOf(monitor) };
    case 'query': {
      const series = seriesOf(key);
      const ofSeries = (text: string) => withLabelValues(text, series?.labels ?? {});
      return {
        ...common,
        monitorName: ofSeries(common.monitorName),
        metricLabel: ofSeries(monitor.legend || monitor.query),
        ...thresholdsOf(monitor),
        ...(series !== undefined && { series }),
      };
    }
    case 'external':
      return {
        ...common,
        services: monitor.service ? [monitor.service] : [],
        ...(judgesResponseTimes(monitor) && {
          metricLabel: 'response time, ms',
          duration: monitor.responseTimeDuration ?? 1,
          ...thresholdsOf(responseThresholds(monitor)),
        }),
      };
  }
}

function pick({ id, name, memo }: Service) {
  return { id, name, memo };
}

/** Returns the part of a subject that describes its host. */
export function hostPart(hostId: string, host: RegisteredHost | undefined) {
  if (host === undefined) return { hostId, services: [] };
  const { id, name, status, memo, roles } = host;
  return { hostId, host: { id, name, status, memo, roles }, services: Object.keys(roles) };
}

function thresholdsOf({ operator, warning, critical }: Thresholds) {
  return {
    ...(operator != null && { operator }),
    ...(warning != null && { warning }),
    ...(critical != null && { critical }),
  };
}

function seriesOf(key: string): AlertSubject['series'] {
  if (key === '') return undefined;
  const labels = new Map(JSON.parse(key) as [string, string][]);
  const name = labels.get(METRIC_NAME) ?? '';
  labels.delete(METRIC_NAME);
  return { name, labels: Object.fromEntries(labels) };
}
