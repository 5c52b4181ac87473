import type { MonitorType } from '../../../../shared/monitors/monitor';
import type { ServiceRoles } from '../api/monitoring';
import type { Draft, Field } from '../forms/fields';
import { scopeOptions, serviceOptions } from '../forms/service-options';

/** Describes what each type of monitor watches. The page offers the types in this order. */
export const TYPE_TEXTS: Readonly<Record<MonitorType, string>> = {
  host: 'a metric of hosts',
  connectivity: 'whether hosts post',
  service: 'a metric of a service',
  external: 'a URL',
  expression: "Mackerel's expression",
  query: 'PromQL',
  anomalyDetection: 'unusual values, stored only',
};

/** The types of monitors that can be created in the page. */
export const NEW_TYPES = ['host', 'connectivity', 'service', 'external', 'expression', 'query'] as const;

/**
 * Returns the text that takes the place of an id in the address while an object is being created. Ids contain no colon.
 */
export function newItem(kind: (typeof NEW_TYPES)[number] | 'alertGroup'): string {
  return `new:${kind}`;
}

const NAME: Field = { name: 'name', kind: 'text' };
const COMMON: readonly Field[] = [
  { name: 'memo', kind: 'long', hint: 'Sent with notifications; up to 2,048 characters.' },
  { name: 'isMute', kind: 'flag', hint: 'Alerts open and close, and nobody is notified.' },
  {
    name: 'notificationInterval',
    kind: 'number',
    hint: 'Minutes until an open alert is notified again, at least 10. Empty: never.',
  },
];
const OPERATOR: Field = {
  name: 'operator',
  kind: 'choice',
  options: [
    ['>', '> greater than'],
    ['<', '< less than'],
  ],
};
const THRESHOLDS: readonly Field[] = [
  OPERATOR,
  { name: 'warning', kind: 'number', hint: 'Threshold of WARNING.' },
  { name: 'critical', kind: 'number', hint: 'Threshold of CRITICAL, which wins when both are met.' },
];
const DURATION: Field = {
  name: 'duration',
  kind: 'number',
  hint: 'How many points to average, 1 to 10. Points, not minutes.',
};
const ATTEMPTS: Field = {
  name: 'maxCheckAttempts',
  kind: 'number',
  hint: 'Consecutive abnormal points that open an alert, 1 to 10; default 1.',
};
const backward = (from: number, byDefault: number): Field => ({
  name: 'evaluateBackwardMinutes',
  kind: 'number',
  hint: `Age of the evaluated value in minutes, ${from} to 10; default ${byDefault}.`,
});

/** Returns the form fields for a type of monitor. Their names are those of Mackerel's API. */
export function monitorFields(type: MonitorType, services: readonly ServiceRoles[]): readonly Field[] {
  const scopes: readonly Field[] = [
    {
      name: 'scopes',
      kind: 'several',
      options: scopeOptions(services),
      hint: 'Services and roles whose hosts are watched. None: all hosts.',
    },
    {
      name: 'excludeScopes',
      kind: 'several',
      options: scopeOptions(services),
      hint: 'Services and roles whose hosts are not watched.',
    },
  ];
  const service: Field = {
    name: 'service',
    kind: 'choice',
    options: serviceOptions(services),
    isOptional: true,
  };
  switch (type) {
    case 'connectivity':
      return [
        NAME,
        {
          name: 'alertStatusOnGone',
          kind: 'choice',
          options: [
            ['CRITICAL', 'CRITICAL'],
            ['WARNING', 'WARNING'],
          ],
          hint: 'Status when a host has posted nothing for ten minutes.',
        },
        ...scopes,
        ...COMMON,
      ];
    case 'host':
      return [
        NAME,
        {
          name: 'metric',
          kind: 'text',
          hint: 'Such as loadavg5, custom.orders.count, cpu%, memory%, disk%, swap%.',
        },
        ...THRESHOLDS,
        DURATION,
        ATTEMPTS,
        ...scopes,
        ...COMMON,
      ];
    case 'service':
      return [
        NAME,
        service,
        { name: 'metric', kind: 'text' },
        { ...OPERATOR, isOptional: true },
        ...THRESHOLDS.slice(1),
        DURATION,
        ATTEMPTS,
        {
          name: 'missingDurationWarning',
          kind: 'number',
          hint: 'Minutes without a point until a WARNING: 10, 20, ... 10080.',
        },
        { name: 'missingDurationCritical', kind: 'number', hint: 'The same for CRITICAL.' },
        ...COMMON,
      ];
    case 'external':
      return [
        NAME,
        { name: 'url', kind: 'text', hint: 'http or https.' },
        { name: 'method', kind: 'choice', options: pairs('GET', 'POST', 'PUT', 'DELETE') },
        { ...service, hint: 'Service to which response times are posted.' },
        ATTEMPTS,
        { name: 'responseTimeWarning', kind: 'number', hint: 'ms; needs service and responseTimeDuration.' },
        { name: 'responseTimeCritical', kind: 'number', hint: 'ms.' },
        {
          name: 'responseTimeDuration',
          kind: 'number',
          hint: 'How many response times to average, 1 to 10.',
        },
        { name: 'expectedStatusCode', kind: 'number', hint: 'Empty: any from 200 to 399.' },
        { name: 'containsString', kind: 'text', hint: 'Text that the body must contain.' },
        {
          name: 'certificationExpirationWarning',
          kind: 'number',
          hint: 'Days before the certificate expires, for a WARNING.',
        },
        { name: 'certificationExpirationCritical', kind: 'number', hint: 'The same for CRITICAL.' },
        { name: 'skipCertificateVerification', kind: 'flag' },
        { name: 'followRedirect', kind: 'flag' },
        {
          name: 'headers',
          kind: 'headers',
          hint: 'One per line, as Name: value. If never set: Cache-Control: no-cache. If emptied: none.',
        },
        { name: 'requestBody', kind: 'code' },
        { name: 'dualstack', kind: 'choice', options: pairs('ipv4', 'ipv6', 'auto') },
        ...COMMON,
      ];
    case 'expression':
      return [
        NAME,
        {
          name: 'expression',
          kind: 'code',
          hint: 'One line, such as avg(role(shop:web, loadavg5)); every 5 minutes.',
        },
        ...THRESHOLDS,
        backward(2, 2),
        ...COMMON,
      ];
    case 'query':
      return [
        NAME,
        { name: 'query', kind: 'code', hint: 'PromQL. Each series of the result has an alert of its own.' },
        { name: 'legend', kind: 'text', hint: 'Names a series, such as {{host}}.' },
        ...THRESHOLDS,
        backward(0, 0),
        ...COMMON,
      ];
    case 'anomalyDetection':
      return [
        NAME,
        ...scopes.slice(0, 1),
        { name: 'warningSensitivity', kind: 'choice', options: SENSITIVITIES, isOptional: true },
        { name: 'criticalSensitivity', kind: 'choice', options: SENSITIVITIES, isOptional: true },
        { ...ATTEMPTS, hint: 'Default 3.' },
        { name: 'trainingPeriodFrom', kind: 'time' },
        ...COMMON,
      ];
  }
}

function pairs(...values: readonly string[]) {
  return values.map((value) => [value, value] as const);
}

const SENSITIVITIES = pairs('insensitive', 'normal', 'sensitive');

/** Returns the initial fields of a new monitor. */
export function newMonitor(type: MonitorType): Draft {
  switch (type) {
    case 'host':
      return { type, name: '', metric: '', operator: '>', duration: 3, maxCheckAttempts: 3, scopes: [] };
    case 'service':
      return { type, name: '', service: '', metric: '', operator: '>', duration: 1, maxCheckAttempts: 1 };
    case 'external':
      return { type, name: '', url: '', method: 'GET', maxCheckAttempts: 3 };
    case 'expression':
    case 'query':
      return { type, name: '', [type]: '', operator: '>' };
    default:
      return { type, name: type === 'connectivity' ? 'connectivity' : '' };
  }
}
