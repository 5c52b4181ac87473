import type { AlertRecord } from '../../../../shared/monitors/alert-record';
import type { Monitor } from '../../../../shared/monitors/monitor';
import { quotedNames } from '../../../../shared/promql/dotted-names';
import type { Host } from '../api/api';
import { expressionQueries } from '../dashboards/widget-queries';
import { onlyWith } from './alert-query';

/**
 * Returns the query for the graph of a monitor's alert: the values of its host, service or series. Returns
 * undefined if no query gives these values: the alert belongs to a check, the monitor computes a percentage,
 * or it does not watch a metric.
 */
export function queryOfMonitorAlert(
  { hostId, series }: AlertRecord,
  monitor: Monitor | undefined,
  hosts: readonly Host[],
): string | undefined {
  switch (monitor?.type) {
    case 'host':
      if (monitor.metric.endsWith('%') || hostId === undefined) return undefined;
      return `{__name__=${JSON.stringify(monitor.metric)},host=${JSON.stringify(hostId)}}`;
    case 'service':
      return `{__name__=${JSON.stringify(monitor.metric)},host="",service=${JSON.stringify(monitor.service)}}`;
    case 'external':
      if (!monitor.service) return undefined;
      return `{__name__="__externalhttp.responsetime.${monitor.id}",host="",service=${JSON.stringify(monitor.service)}}`;
    case 'expression':
      return expressionQuery(monitor.expression, hosts);
    case 'query':
      return onlyWith(quotedNames(monitor.query), Object.entries(series?.labels ?? {}));
    default:
      return undefined;
  }
}

function expressionQuery(expression: string, hosts: readonly Host[]): string | undefined {
  try {
    return expressionQueries(expression, hosts)[0]?.query;
  } catch {
    // Show no graph. The alert's message says why the expression cannot be evaluated.
    return undefined;
  }
}
