import { DAY_MS } from '../model/duration';
import type { SampleColumns } from '../model/sample-columns';
import { type Judgement, statusOf, worstOf } from './judge';
import type { MonitorMemory } from './judge-monitor';
import type { MonitorOf } from './monitor';
import type { Probe } from './probe';

export interface JudgedProbe {
  readonly judgement: Judgement;
  readonly memory: MonitorMemory;
}

/** Maximum number of response times that a monitor remembers. An average never needs more. */
const MAX_RESPONSE_TIMES = 10;

/**
 * Judges the result of requesting an external URL. Each request counts as one attempt towards
 * `maxCheckAttempts`. The message is the HTTP status of the response, or an error; `mkr alerts` displays the
 * two differently.
 *
 * @param nowMs time of the request, as Unix time in ms
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
    judgement: { ...worst, ...(average !== undefined && { value: average }), sampleMs: nowMs },
    memory: next,
  };
}

/** Returns the thresholds above which a response time is abnormal, in ms. */
export function responseThresholds({ responseTimeWarning, responseTimeCritical }: MonitorOf<'external'>) {
  return { operator: '>', warning: responseTimeWarning, critical: responseTimeCritical } as const;
}

export function judgesResponseTimes({
  responseTimeWarning,
  responseTimeCritical,
}: MonitorOf<'external'>): boolean {
  return responseTimeWarning != null || responseTimeCritical != null;
}

/** Returns the average response time, in ms; undefined if response times are not judged, or if there are too few. */
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
    : [{ status, message: `the certificate expires at ${new Date(certificateEndsMs).toISOString()}` }];
}

/** Returns the response time as a metric of the monitor's service, with Mackerel's name. */
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
