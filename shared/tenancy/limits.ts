import type { RuntimeSettings } from '../platform/settings';

/** A tenant's limits: the stage's settings hold the defaults, `ops tenants set --limit` changes one tenant's. */
export interface Limits {
  /** Samples of posts in a clock minute, dropped ones included. Each post counts as at least one, and as one a kilobyte. */
  readonly samplesPerMinute: number;
  /** Series with samples in the last day. Beyond it samples of new series are dropped, those of known series kept. */
  readonly series: number;
  /** Hosts that are not retired. */
  readonly hosts: number;
  /** Bytes of a request's body, before and after decompression. */
  readonly bodyBytes: number;
  /** Posts of service metrics accepted in a clock minute. */
  readonly servicePostsPerMinute: number;
  /** Series that a query selects, all its selectors together. */
  readonly querySeries: number;
  /** Sources of one of its selectors. */
  readonly querySources: number;
  /** Samples that it reads. */
  readonly querySamples: number;
  /** Seconds that it takes. */
  readonly querySeconds: number;
  /** Queries that run at once, of any kind. */
  readonly queriesAtOnce: number;
  /** Seconds of the query function in a clock minute. */
  readonly querySecondsPerMinute: number;
  /** Recording and alerting rules. */
  readonly rules: number;
  /** Groups of rules. */
  readonly ruleGroups: number;
  /** Rules of one group. */
  readonly rulesPerGroup: number;
  /** Alerts of one rule, pending and firing. */
  readonly alertsPerRule: number;
}

export type LimitName = keyof Limits;
export type LimitOverrides = Partial<Limits>;

/** The setting with each limit's default. */
const SETTING = {
  samplesPerMinute: 'maxSamplesPerMinute',
  series: 'maxSeries',
  hosts: 'maxHosts',
  bodyBytes: 'maxBodyBytes',
  servicePostsPerMinute: 'maxServicePostsPerMinute',
  querySeries: 'maxQuerySeries',
  querySources: 'maxQuerySources',
  querySamples: 'maxQuerySamples',
  querySeconds: 'maxQuerySeconds',
  queriesAtOnce: 'maxQueriesAtOnce',
  querySecondsPerMinute: 'maxQuerySecondsPerMinute',
  rules: 'maxRules',
  ruleGroups: 'maxRuleGroups',
  rulesPerGroup: 'maxRulesPerGroup',
  alertsPerRule: 'maxAlertsPerRule',
} as const satisfies Record<LimitName, keyof RuntimeSettings>;

export const LIMIT_NAMES = Object.keys(SETTING) as LimitName[];

/** A tenant's limits: its own where it has any, else the stage's. */
export function limitsOf(settings: RuntimeSettings, overrides: LimitOverrides = {}): Limits {
  const pairs = LIMIT_NAMES.map((name) => [name, overrides[name] ?? settings[SETTING[name]]]);
  return Object.fromEntries(pairs) as Limits;
}
