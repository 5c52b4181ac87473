import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { log } from '../platform/log';
import type { LimitName, Limits } from './limits';
import type { TenantMeter } from './tenant-meter';
import type { Tenant } from './tenants';
import type { UsageTable } from './usage-table';

const MINUTE_MS = 60_000;
/** Time between reports of an instance's queries that were not announced. */
const REPORT_MS = 15_000;
/** Share of the limit of seconds below which an instance begins queries without announcing them. */
const LIGHT_SHARE = 0.25;
/** How long a tenant waits when as many queries run as may. */
const BUSY_MS = 1_000;
/** The longest that a query waits for the table; then it is admitted. */
const TIMEOUT_MS = 1_000;
const STATE_BYTES = 300;

/** A query that was admitted. */
export interface RunningQuery {
  /** Minutes since epoch. */
  readonly minute: number;
  readonly startedMs: number;
  /** Whether the table counts it among those that run. */
  readonly isAnnounced: boolean;
}

/** A query that must not begin. */
export interface RefusedQuery {
  readonly refusedBy: LimitName;
  /** Time until it may be tried again, ms. */
  readonly waitMs: number;
}

interface TenantState {
  minute: number;
  /** Time of all instances' queries in the minute, as last heard, and of this instance's since then, ms. */
  usedMs: number;
  usedBeforeMs: number;
  /** Of this instance, not reported yet, ms. */
  unsentMs: number;
  heardAtMs: number;
  /** When the table was called last, whether or not it answered. */
  calledAtMs: number;
  refusal: (RefusedQuery & { readonly untilMs: number }) | undefined;
}

/**
 * Bounds what each tenant's queries take of the function: how many run at once, and their seconds in a minute of the clock.
 *
 * A query announces itself in the table before it begins, unless this instance heard within the last minute that the tenant has used
 * less than a quarter of its seconds. So a tenant that asks for little costs a write or two a minute, and one that asks for much cannot
 * begin on an instance that knows nothing of it.
 *
 * The bounds are exceeded by a tenant's queries on instances that know it as a light one, by those that run on from the minute before,
 * and while the table does not answer. A query whose instance was killed counts as running until its minute is over.
 */
export class QueryBudgets {
  private readonly states = new Cache<TenantState>(CACHES.queryBudgets, () => STATE_BYTES);

  constructor(
    private readonly table: Pick<UsageTable, 'beginQuery' | 'endQueries'>,
    private readonly meter: Pick<TenantMeter, 'limits' | 'count'>,
    private readonly now: () => number = Date.now,
  ) {}

  /** Admits a query, which then must be given to {@link end}, or refuses it. */
  async begin(tenant: Tenant): Promise<RunningQuery | RefusedQuery> {
    const startedMs = this.now();
    const limits = this.meter.limits(tenant);
    const state = this.state(tenant, startedMs);
    const refusal = state.refusal ?? spent(state, limits, startedMs);
    if (refusal !== undefined) return refusal;
    const { minute } = state;
    const isLight =
      startedMs - state.heardAtMs < MINUTE_MS &&
      Math.max(state.usedMs, state.usedBeforeMs) < LIGHT_SHARE * limitMs(limits);
    if (isLight) return { minute, startedMs, isAnnounced: false };
    state.calledAtMs = startedMs;
    const answer = await this.announce(tenant, minute, limits);
    if (answer === undefined) return { minute, startedMs, isAnnounced: false };
    this.hear(state, minute, answer.usedMs);
    if (answer.isAdmitted) return { minute, startedMs, isAnnounced: true };
    const nowMs = this.now();
    const refused = spent(state, limits, nowMs) ?? { refusedBy: 'queriesAtOnce' as const, waitMs: BUSY_MS };
    state.refusal = { ...refused, untilMs: nowMs + refused.waitMs };
    // Who is refused is not light, however little was used.
    state.heardAtMs = -Infinity;
    return refused;
  }

  /** Counts a query's time. Never fails. */
  async end(tenant: Tenant, { minute, startedMs, isAnnounced }: RunningQuery): Promise<void> {
    const nowMs = this.now();
    const tookMs = nowMs - startedMs;
    this.meter.count(tenant, { queries: 1, queryMs: tookMs });
    const state = this.state(tenant, nowMs);
    // An announced query counts in the minute that it began in, the others in that of the report.
    if (state.minute === minute || !isAnnounced) state.usedMs += tookMs;
    if (!isAnnounced) state.unsentMs += tookMs;
    const isDue = state.unsentMs > 0 && nowMs - state.calledAtMs >= REPORT_MS;
    if (!isAnnounced && !isDue) return;
    const ofMinute = isAnnounced ? minute : state.minute;
    const sentMs = isAnnounced ? tookMs : state.unsentMs;
    if (!isAnnounced) state.unsentMs = 0;
    state.calledAtMs = nowMs;
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const total = await this.table.endQueries(tenant.id, ofMinute, isAnnounced ? 1 : 0, sentMs, signal);
      this.hear(state, ofMinute, total);
    } catch (error) {
      log.warn('the time of queries was not counted', { error: error as Error });
    }
  }

  private async announce({ id }: Tenant, minute: number, limits: Limits) {
    try {
      const bounds = { atOnce: limits.queriesAtOnce, usedMs: limitMs(limits) };
      return await this.table.beginQuery(id, minute, bounds, AbortSignal.timeout(TIMEOUT_MS));
    } catch (error) {
      log.warn('a query was admitted without its budget', { error: error as Error });
      return undefined;
    }
  }

  /** Takes in the table's sum of a minute. */
  private hear(state: TenantState, minute: number, totalMs: number): void {
    if (minute !== state.minute) return;
    state.usedMs = totalMs + state.unsentMs;
    state.heardAtMs = this.now();
  }

  private state({ id }: Tenant, nowMs: number): TenantState {
    const minute = Math.floor(nowMs / MINUTE_MS);
    let state = this.states.get(id);
    if (state === undefined) {
      const never = { heardAtMs: -Infinity, calledAtMs: -Infinity };
      state = { minute, usedMs: 0, usedBeforeMs: 0, unsentMs: 0, ...never, refusal: undefined };
      this.states.set(id, state);
    }
    if (state.minute !== minute) {
      state.usedBeforeMs = state.minute === minute - 1 ? state.usedMs : 0;
      state.usedMs = state.unsentMs;
      state.minute = minute;
    }
    const { refusal } = state;
    state.refusal =
      refusal === undefined || refusal.untilMs <= nowMs
        ? undefined
        : { ...refusal, waitMs: refusal.untilMs - nowMs };
    return state;
  }
}

/** The refusal of a tenant that has used its seconds of the minute; undefined when it has not. */
function spent({ minute, usedMs }: TenantState, limits: Limits, nowMs: number): RefusedQuery | undefined {
  const waitMs = (minute + 1) * MINUTE_MS - nowMs;
  if (usedMs >= limitMs(limits)) return { refusedBy: 'querySecondsPerMinute', waitMs };
  return limits.queriesAtOnce === 0 ? { refusedBy: 'queriesAtOnce', waitMs } : undefined;
}

function limitMs({ querySecondsPerMinute }: Limits): number {
  return 1000 * querySecondsPerMinute;
}
