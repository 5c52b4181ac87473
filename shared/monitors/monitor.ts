import * as z from 'zod';
import { text, unixSeconds } from '../platform/fields';
import { compareBytes } from '../promql/vectors';
import { httpUrl, memo, name, notificationInterval, scopeTexts } from './fields';
import { PERCENTAGES, percentMetricOf } from './percent-metrics';

/**
 * Schemas of Mackerel's monitors. A monitor is returned as it was posted: fields that were left out stay absent, so
 * that `mkr monitors diff` finds no difference. {@link DEFAULTS} apply only when a monitor is evaluated.
 *
 * @see https://mackerel.io/api-docs/entry/monitors
 */
export const MONITOR_TYPES = [
  'connectivity',
  'host',
  'service',
  'external',
  'expression',
  'anomalyDetection',
  'query',
] as const;
export type MonitorType = (typeof MONITOR_TYPES)[number];

/** Values that the evaluator uses for absent fields. */
export const DEFAULTS = {
  name: 'connectivity',
  alertStatusOnGone: 'CRITICAL',
  maxCheckAttempts: 1,
  expressionBackwardMinutes: 2,
  queryBackwardMinutes: 0,
} as const;

const MAX_METRIC = 255;
const MAX_EXPRESSION = 10_000;
const MAX_REQUEST_BODY = 10_000;
const MAX_HEADERS = 50;
const MAX_HEADER_VALUE = 4_096;
/** Maximum total length of all headers, in characters. Few servers accept more. */
const MAX_HEADERS_LENGTH = 16_384;
const WEEK_MINUTES = 7 * 24 * 60;

const common = {
  name,
  memo,
  isMute: z.boolean().nullish(),
  notificationInterval,
};
const operator = z.enum(['>', '<']);
const threshold = z.number().nullish();
const thresholds = { warning: threshold, critical: threshold };
const samples = z.int().min(1).max(10).meta({ description: 'Number of samples whose average is judged.' });
const maxCheckAttempts = z.int().min(1).max(10).nullish();
const scopes = { scopes: scopeTexts.nullish(), excludeScopes: scopeTexts.nullish() };

const connectivityMonitor = z.object({
  type: z.literal('connectivity'),
  ...common,
  name: name.nullish(),
  alertStatusOnGone: z.enum(['CRITICAL', 'WARNING']).nullish(),
  ...scopes,
});

const hostMonitor = z
  .object({
    type: z.literal('host'),
    ...common,
    metric: text(1, MAX_METRIC),
    operator,
    ...thresholds,
    duration: samples,
    maxCheckAttempts,
    ...scopes,
  })
  .superRefine((monitor, context) => {
    requireThreshold(monitor, context);
    // The name of a posted metric cannot contain a percent sign.
    if (!monitor.metric.endsWith('%')) return;
    if (percentMetricOf(monitor.metric) === undefined) {
      flaw(context, 'metric', `expected one of ${Object.keys(PERCENTAGES).join(', ')}`, monitor.metric);
      return;
    }
    for (const field of ['warning', 'critical'] as const) {
      const value = monitor[field];
      if (value != null && (value < 0 || value > 100))
        flaw(context, field, `expected 0 to 100, the percentages that ${monitor.metric} takes`, value);
    }
  });

const missingDuration = z
  .int()
  .min(10)
  .max(WEEK_MINUTES)
  .multipleOf(10)
  .nullish()
  .meta({ description: 'Minutes.' });

const serviceMonitor = z
  .object({
    type: z.literal('service'),
    ...common,
    service: text(1, 63),
    metric: text(1, MAX_METRIC),
    operator: operator.nullish(),
    ...thresholds,
    duration: samples.nullish(),
    maxCheckAttempts,
    missingDurationWarning: missingDuration,
    missingDurationCritical: missingDuration,
  })
  .superRefine((monitor, context) => {
    const { warning, critical, missingDurationWarning, missingDurationCritical } = monitor;
    if (warning != null || critical != null) {
      for (const field of ['operator', 'duration'] as const)
        if (monitor[field] == null)
          flaw(context, field, 'expected a value, because a threshold is set', monitor[field]);
    } else if (missingDurationWarning == null && missingDurationCritical == null) {
      requireThreshold(monitor, context);
    }
  });

const header = z.object({
  name: text(1, 256).regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'expected the name of a header'),
  value: text(0, MAX_HEADER_VALUE).regex(/^(\t|\P{Cc})*$/u, 'expected one line of text'),
});

function lengthOf(headers: readonly z.output<typeof header>[]): number {
  return headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
}

const certificateDays = z.int().min(0).nullish().meta({ description: 'Days.' });

const externalMonitor = z
  .object({
    type: z.literal('external'),
    ...common,
    url: httpUrl,
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).nullish(),
    service: text(1, 63).nullish(),
    maxCheckAttempts,
    responseTimeWarning: z.number().min(0).nullish().meta({ description: 'ms.' }),
    responseTimeCritical: z.number().min(0).nullish().meta({ description: 'ms.' }),
    responseTimeDuration: samples.nullish(),
    containsString: text(0, MAX_EXPRESSION).nullish(),
    certificationExpirationWarning: certificateDays,
    certificationExpirationCritical: certificateDays,
    skipCertificateVerification: z.boolean().nullish(),
    expectedStatusCode: z.int().min(100).max(599).nullish(),
    headers: z
      .array(header)
      .max(MAX_HEADERS)
      .refine((headers) => lengthOf(headers) <= MAX_HEADERS_LENGTH, {
        error: `expected at most ${MAX_HEADERS_LENGTH} characters in all`,
      })
      .nullish(),
    requestBody: text(0, MAX_REQUEST_BODY).nullish(),
    followRedirect: z.boolean().nullish(),
    dualstack: z.enum(['ipv4', 'ipv6', 'auto']).nullish(),
  })
  .superRefine((monitor, context) => {
    const { service, responseTimeWarning, responseTimeCritical, responseTimeDuration } = monitor;
    const judges = responseTimeWarning != null || responseTimeCritical != null;
    if (!judges && responseTimeDuration == null) return;
    if (service == null || service === '')
      flaw(context, 'service', 'expected a service; response times are stored as a metric of it', service);
    if (responseTimeDuration == null)
      flaw(
        context,
        'responseTimeDuration',
        'expected a value, because a response time is set',
        responseTimeDuration,
      );
    if (!judges)
      flaw(
        context,
        'responseTimeDuration',
        'expected responseTimeWarning or responseTimeCritical to be set too',
        responseTimeDuration,
      );
  });

const expressionMonitor = z
  .object({
    type: z.literal('expression'),
    ...common,
    expression: text(1, MAX_EXPRESSION),
    operator,
    ...thresholds,
    evaluateBackwardMinutes: z.int().min(2).max(10).nullish(),
  })
  .superRefine(requireThreshold);

const sensitivity = z.enum(['insensitive', 'normal', 'sensitive']).nullish();

const anomalyDetectionMonitor = z
  .object({
    type: z.literal('anomalyDetection'),
    ...common,
    scopes: scopeTexts.min(1, 'expected at least one role'),
    warningSensitivity: sensitivity,
    criticalSensitivity: sensitivity,
    maxCheckAttempts,
    trainingPeriodFrom: unixSeconds.nullish(),
  })
  .superRefine(({ warningSensitivity, criticalSensitivity }, context) => {
    if (warningSensitivity == null && criticalSensitivity == null)
      flaw(
        context,
        'warningSensitivity',
        'expected warningSensitivity or criticalSensitivity',
        warningSensitivity,
      );
  });

const queryMonitor = z
  .object({
    type: z.literal('query'),
    ...common,
    query: text(1, MAX_EXPRESSION),
    legend: text(0, 1_000).nullish(),
    operator,
    ...thresholds,
    evaluateBackwardMinutes: z.int().min(0).max(10).nullish(),
  })
  .superRefine(requireThreshold);

/** A monitor as posted by a client. References and expressions in it are checked separately. */
export const monitorSpec = z.discriminatedUnion(
  'type',
  [
    connectivityMonitor,
    hostMonitor,
    serviceMonitor,
    externalMonitor,
    expressionMonitor,
    anomalyDetectionMonitor,
    queryMonitor,
  ],
  {
    error: ({ code }) =>
      code === 'invalid_union' ? `expected one of ${MONITOR_TYPES.join(', ')}` : undefined,
  },
);

export type MonitorSpec = z.output<typeof monitorSpec>;

export type Monitor = MonitorSpec & { readonly id: string };

export type MonitorOf<T extends MonitorType> = Extract<MonitorSpec, { type: T }> & { readonly id: string };

/** Returns whether a monitor watches hosts. The keys of its tracks are then host ids. */
export function isOfHosts({ type }: MonitorSpec): boolean {
  return type === 'host' || type === 'connectivity';
}

export function monitorNameOf(monitor: MonitorSpec): string {
  return monitor.name ?? DEFAULTS.name;
}

/**
 * Returns the monitor that results from an update: the new spec, except that `alertStatusOnGone` and
 * `headers` keep their old values if omitted, as in Mackerel.
 */
export function updatedMonitor(stored: MonitorSpec, spec: MonitorSpec): MonitorSpec {
  if (spec.type === 'connectivity' && stored.type === 'connectivity')
    return keepField(stored, spec, 'alertStatusOnGone');
  if (spec.type === 'external' && stored.type === 'external') return keepField(stored, spec, 'headers');
  return spec;
}

function keepField<T extends object, K extends keyof T>(stored: T, spec: T, field: K): T {
  return spec[field] === undefined && stored[field] !== undefined
    ? { ...spec, [field]: stored[field] }
    : spec;
}

/** Sorts monitors as lists show them: by type, then by name. */
export function sortedMonitors<T extends MonitorSpec>(monitors: readonly T[]): T[] {
  return [...monitors].sort(
    (a, b) => compareBytes(a.type, b.type) || compareBytes(monitorNameOf(a), monitorNameOf(b)),
  );
}

type Thresholds = { readonly warning?: number | null; readonly critical?: number | null };

function requireThreshold({ warning, critical }: Thresholds, context: z.RefinementCtx): void {
  if (warning == null && critical == null)
    flaw(context, 'warning', 'expected a number here or in critical', warning);
}

/**
 * Reports an invalid field.
 *
 * @param value shown in the message; null stands for an absent field, because zod would report `undefined` as "is
 *   missing"
 */
function flaw(context: z.RefinementCtx, field: string, message: string, value: unknown): void {
  context.addIssue({ code: 'custom', path: [field], message, input: value ?? null });
}
