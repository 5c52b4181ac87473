import type { RuntimeSettings } from '../platform/settings';

/**
 * A tenant's limits. The settings of the stage hold the defaults; `ops tenants set --limit` overrides them
 * for one tenant.
 */
export interface Limits {
  /**
   * Samples posted per clock minute, including dropped ones. Each post counts as at least one sample, and as
   * at least one per kilobyte.
   */
  readonly samplesPerMinute: number;
  /**
   * Series with samples in the last day. Beyond it, samples of new series are dropped and those of existing
   * series kept.
   */
  readonly series: number;
  /** Hosts that are not retired. */
  readonly hosts: number;
  /** Bytes of a request's body, before and after decompression. */
  readonly bodyBytes: number;
  /** Posts of service metrics accepted in a clock minute. */
  readonly servicePostsPerMinute: number;
  /** Series selected by all selectors of a query together. */
  readonly querySeries: number;
  /** Sources selected by one selector of a query. */
  readonly querySources: number;
  /** Samples that a query reads. */
  readonly querySamples: number;
  /** Seconds that a query runs. */
  readonly querySeconds: number;
  /** Queries of any kind that run at the same time. */
  readonly queriesAtOnce: number;
  /** Seconds of the query function per clock minute. */
  readonly querySecondsPerMinute: number;
  /** Recording and alerting rules of the tenant. */
  readonly rules: number;
  /** Rule groups of the tenant. */
  readonly ruleGroups: number;
  /** Rules in one group. */
  readonly rulesPerGroup: number;
  /** Pending and firing alerts of one rule. */
  readonly alertsPerRule: number;
}

export type LimitName = keyof Limits;
export type LimitOverrides = Partial<Limits>;

/** The setting that holds each limit's default. */
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

/**
 * A write was refused: every sample in it is of a new series beyond the limit, or its sources could not all
 * be looked up.
 */
export class SeriesLimitError extends Error {
  override readonly name = 'SeriesLimitError';

  /**
   * @param retryAfterMs time after which a write of new series may succeed, in ms
   */
  constructor(
    readonly limit: number,
    readonly retryAfterMs: number,
  ) {
    super(`the limit series of ${limit} is reached`);
  }
}

/** Returns a tenant's limits: its overrides, else the stage's defaults. */
export function limitsOf(settings: RuntimeSettings, overrides: LimitOverrides = {}): Limits {
  const pairs = LIMIT_NAMES.map((name) => [name, overrides[name] ?? settings[SETTING[name]]]);
  return Object.fromEntries(pairs) as Limits;
}
