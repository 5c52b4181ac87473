import type { SampleColumns } from '../promql/store';
import { type Judgement, statusOf, worstOf } from './judge';
import type { MonitorMemory } from './judge-monitor';
import type { MonitorOf } from './monitor';
import type { Probe } from './probe';

export interface JudgedProbe {
  readonly judgement: Judgement;
  readonly memory: MonitorMemory;
}

/** Response times that a monitor remembers: as many as an average is of, at most. */
const MAX_RESPONSE_TIMES = 10;
const DAY_MS = 86_400_000;

/**
 * Judges what became of an external URL's request. Each request counts once for `maxCheckAttempts`. The message is the status that the
 * server answered, or an error: `mkr alerts` shows them apart.
 *
 * @param nowMs when it was requested, ms since epoch
 */
export function judgeProbe(
  monitor: MonitorOf<'external'>,
  memory: MonitorMemory,
  probe: Probe,
  nowMs: number,
): JudgedProbe {
  const { status, responseMs, error } = probe;
  const times = [...(memory.responseMs ?? []), ...(responseMs === undefined ? [] : [responseMs])];
  const next = { ...memory, responseMs: times.slice(-MAX_RESPONSE_TIMES) };
  const message = error ?? String(status);
  const isExpected =
    monitor.expectedStatusCode == null
      ? status !== undefined && status >= 200 && status < 400
      : status === monitor.expectedStatusCode;
  const found: Judgement[] = [
    { status: error === undefined && isExpected ? 'OK' : 'CRITICAL', message },
    ...certificateJudgement(monitor, probe, nowMs),
  ];
  const average = responseMs === undefined ? undefined : averageOf(next.responseMs, monitor);
  if (average !== undefined)
    found.push({ status: statusOf(average, responseThresholds(monitor)), value: average, message });
  const worst = worstOf(found)!;
  return {
    judgement: { ...worst, ...(average !== undefined && { value: average }), pointMs: nowMs },
    memory: next,
  };
}

/** A response time is abnormal above these, ms. */
export function responseThresholds({ responseTimeWarning, responseTimeCritical }: MonitorOf<'external'>) {
  return { operator: '>', warning: responseTimeWarning, critical: responseTimeCritical } as const;
}

export function judgesResponseTimes({
  responseTimeWarning,
  responseTimeCritical,
}: MonitorOf<'external'>): boolean {
  return responseTimeWarning != null || responseTimeCritical != null;
}

/** @returns undefined unless response times are judged, and there are enough */
function averageOf(times: readonly number[], monitor: MonitorOf<'external'>): number | undefined {
  const count = monitor.responseTimeDuration ?? 1;
  if (!judgesResponseTimes(monitor) || times.length < count) return undefined;
  return times.slice(-count).reduce((sum, time) => sum + time, 0) / count;
}

function certificateJudgement(
  {
    certificationExpirationWarning: warning,
    certificationExpirationCritical: critical,
  }: MonitorOf<'external'>,
  { certificateEndsMs }: Probe,
  nowMs: number,
): Judgement[] {
  if (certificateEndsMs === undefined) return [];
  const days = (certificateEndsMs - nowMs) / DAY_MS;
  const status = statusOf(days, { operator: '<', warning: warning ?? null, critical: critical ?? null });
  return status === 'OK'
    ? []
    : [{ status, message: `the certificate ends ${new Date(certificateEndsMs).toISOString()}` }];
}

/** The response time as a metric of the monitor's service, as Mackerel names it. */
export function responseSamples(
  { id, service }: MonitorOf<'external'>,
  { responseMs }: Probe,
  nowMs: number,
): SampleColumns[] {
  if (!service || responseMs === undefined) return [];
  return [
    {
      labels: [
        ['__name__', `__externalhttp.responsetime.${id}`],
        ['service', service],
      ],
      timestamps: Float64Array.of(nowMs),
      values: Float64Array.of(responseMs),
    },
  ];
}
