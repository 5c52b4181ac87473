import type { RuntimeSettings } from '../platform/settings';

/**
 * A tenant's limits. The settings of the stage hold the defaults; `ops tenants set --limit` overrides them
 * for one tenant.
 */
export interface Limits {
  /**
   * Maximum number of samples posted per clock minute, including dropped samples. A post counts as at least
   * one sample, and as at least one sample for each kilobyte.
   */
  readonly samplesPerMinute: number;
  /**
   * Maximum number of series with samples in the last day. Beyond this number, samples of new series are dropped, and
   * samples of existing series are kept.
   */
  readonly series: number;
  /** Maximum number of hosts that are not retired. */
  readonly hosts: number;
  /**
   * Maximum size of a request's body, before and after decompression, in bytes. A body compressed with snappy may
   * be larger after decompression (protocol/prometheus/snappy.ts).
   */
  readonly bodyBytes: number;
  /** Maximum number of posts of service metrics per clock minute. */
  readonly servicePostsPerMinute: number;
  /** Maximum number of series that all selectors of a query select together. */
  readonly querySeries: number;
  /** Maximum number of sources that one selector of a query selects. */
  readonly querySources: number;
  /** Maximum number of samples that a query reads. */
  readonly querySamples: number;
  /** Maximum run time of a query, in seconds. */
  readonly querySeconds: number;
  /** Maximum number of concurrent queries of any kind. */
  readonly queriesAtOnce: number;
  /** Maximum run time of the query function for the tenant per clock minute, in seconds. */
  readonly querySecondsPerMinute: number;
  /** Maximum number of the tenant's recording and alerting rules. */
  readonly rules: number;
  /** Maximum number of the tenant's rule groups. */
  readonly ruleGroups: number;
  /** Maximum number of rules in one group. */
  readonly rulesPerGroup: number;
  /** Maximum number of pending and firing alerts of one rule. */
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
 * A write was refused. Either all of its samples belong to new series beyond the limit, or some of its
 * sources could not be looked up.
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

/** Returns a tenant's limits: the stage's defaults, except where the tenant has an override. */
export function limitsOf(settings: RuntimeSettings, overrides: LimitOverrides = {}): Limits {
  const pairs = LIMIT_NAMES.map((name) => [name, overrides[name] ?? settings[SETTING[name]]]);
  return Object.fromEntries(pairs) as Limits;
}
