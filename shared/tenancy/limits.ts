import type { RuntimeSettings } from '../platform/settings';

/** What a tenant may do. The stage's settings say it for all, `ops tenants set --limit` for one. */
export interface Limits {
  /** Samples accepted in a minute of the clock. */
  readonly samplesPerMinute: number;
  /** Series with samples of the last day; beyond it new ones are dropped, known ones go on. */
  readonly series: number;
  /** Hosts that are not retired. */
  readonly hosts: number;
  /** Bytes of a request's body, before and after decompression. */
  readonly bodyBytes: number;
  /** Posts of service metrics accepted in a minute of the clock. */
  readonly servicePostsPerMinute: number;
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
} as const satisfies Record<LimitName, keyof RuntimeSettings>;

export const LIMIT_NAMES = Object.keys(SETTING) as LimitName[];

/** The limits of a tenant. */
export function limitsOf(settings: RuntimeSettings, overrides: LimitOverrides = {}): Limits {
  const pairs = LIMIT_NAMES.map((name) => [name, overrides[name] ?? settings[SETTING[name]]]);
  return Object.fromEntries(pairs) as Limits;
}
