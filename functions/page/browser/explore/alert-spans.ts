import type { Api } from '../api/api';
import { type LabelMap, type Result, resolutionFor, seriesText } from '../api/promql-results';
import type { Span } from '../view/time-range';

/** A span of time during which an alert fired, as Unix time in seconds. */
export interface AlertSpan {
  /** The alert's labels, including `alertname`. */
  readonly labels: LabelMap;
  readonly from: number;
  readonly to: number;
}

/** Maximum number of alerts that are read. */
const MAX_ALERTS = 200;

/**
 * Reads when alerts fired, from the `ALERTS` series that rules write. Reads at most {@link MAX_ALERTS}
 * alerts.
 */
export async function readAlertSpans(
  api: Api,
  span: Span,
  signal: AbortSignal,
): Promise<readonly AlertSpan[]> {
  const stepS = resolutionFor(span);
  const [startS, endS] = [Math.ceil(span.fromS / stepS) * stepS, Math.ceil(span.toS / stepS) * stepS];
  const fields = {
    query: alertsQuery(stepS),
    start: String(startS),
    end: String(endS),
    step: String(stepS),
    limit: String(MAX_ALERTS),
  };
  return spansOf((await api.prometheus<Result>('query_range', fields, signal)).data, stepS);
}

/** A query for the alerts that fired at a step, or since the previous one. */
function alertsQuery(stepS: number): string {
  const firing = 'ALERTS{alertstate="firing"}';
  return `${firing} * 1 or max_over_time(${firing}[${stepS}s])`;
}

/** Joins consecutive steps at which an alert fired into spans. A span begins one step before the first of its steps. */
export function spansOf(result: Result, stepS: number): readonly AlertSpan[] {
  if (result.resultType !== 'matrix') return [];
  const spans = result.result.flatMap(({ metric: { alertstate: _, ...labels }, values }) => {
    const found: { labels: LabelMap; from: number; to: number }[] = [];
    for (const [timeS] of values) {
      const last = found.at(-1);
      if (last !== undefined && timeS - last.to <= stepS) last.to = timeS;
      else found.push({ labels, from: timeS - stepS, to: timeS });
    }
    return found;
  });
  return spans.sort((a, b) => a.from - b.from);
}

/** Labels that do not identify the object that an alert or a series is about. */
const NAMES: ReadonlySet<string> = new Set(['__name__', 'alertname']);

/**
 * Returns the alerts that concern any of the series. An alert concerns a series if they share at least one label name,
 * and have equal values for every label name that they share.
 */
export function alertsOfSeries(
  alerts: readonly AlertSpan[],
  series: readonly LabelMap[],
): readonly AlertSpan[] {
  return alerts.filter(({ labels }) => series.some((each) => agree(labels, each)));
}

function agree(alert: LabelMap, series: LabelMap): boolean {
  const shared = Object.keys(alert).filter((name) => !NAMES.has(name) && Object.hasOwn(series, name));
  return shared.length > 0 && shared.every((name) => alert[name] === series[name]);
}

/** Formats an alert as `High{job="shop"}`. */
export function alertText({ alertname = '', ...labels }: LabelMap): string {
  return seriesText({ __name__: alertname, ...labels });
}
