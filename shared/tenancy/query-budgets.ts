import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { MINUTE_MS } from '../model/duration';
import { log } from '../platform/log';
import type { LimitName, Limits } from './limits';
import type { TenantMeter } from './tenant-meter';
import type { Tenant } from './tenants';
import type { UsageTable } from './usage-table';

/** Minimum time between two reports to the table of how long queries without a permit took, in ms. */
const REPORT_MS = 15_000;
/** If a tenant has used less than this share of its query seconds, its queries begin without a permit. */
const LIGHT_SHARE = 0.25;
/**
 * An instance reports the evaluation time of a tenant's rules and monitors to the table once it adds up to this much,
 * in ms. So small tenants cause hardly any writes.
 */
const RULES_MS = 1_000;
/** Wait suggested to a tenant that has reached its limit of concurrent queries, in ms. */
const BUSY_MS = 1_000;
/** Timeout of a call to the table, in ms. If the call for a permit times out, the query is admitted without one. */
const TIMEOUT_MS = 1_000;
const STATE_BYTES = 300;

/** A query that was admitted and has not ended. */
export interface RunningQuery {
  /** Unix time in minutes. */
  readonly minute: number;
  readonly startedMs: number;
  /** Whether the table counts the query as running. */
  readonly hasPermit: boolean;
}

export interface RefusedQuery {
  readonly refusedBy: LimitName;
  /** Time until the query may be tried again, in ms. */
  readonly waitMs: number;
}

interface TenantState {
  minute: number;
  /**
   * Query time of the tenant on all instances in this minute, in ms: the total that the table last returned,
   * plus the query time on this instance since then.
   */
  usedMs: number;
  usedBeforeMs: number;
  /** Query time on this instance that has not been added to the table yet, in ms. */
  unsentMs: number;
  updatedAtMs: number;
  /** Time of the last call to the table, whether or not it answered. */
  calledAtMs: number;
  refusal: (RefusedQuery & { readonly untilMs: number }) | undefined;
}

/**
 * Bounds the query function's work for each tenant: how many queries run at once, and how many seconds they take per
 * clock minute.
 *
 * A query takes a permit from the table before it begins, unless its tenant is light. An instance considers a tenant
 * light if it has learnt within the last minute that the tenant has used less than a quarter of its seconds.
 * So a light tenant costs only one or two writes a minute. A heavy tenant is bounded even on an instance that
 * has not seen it yet, because its queries need a permit there.
 *
 * infra/README.md ("How exact are the limits?") says how a tenant can exceed the bounds.
 */
export class QueryBudgets {
  private readonly states = new Cache<TenantState>(CACHES.queryBudgets, () => STATE_BYTES);

  constructor(
    private readonly table: Pick<UsageTable, 'beginQuery' | 'endQueries'>,
    private readonly meter: Pick<TenantMeter, 'limits' | 'count' | 'exchange'>,
    private readonly now: () => number = Date.now,
  ) {}

  /** Admits or refuses a query. Pass an admitted query to {@link end} when it is done. */
  async begin(tenant: Tenant): Promise<RunningQuery | RefusedQuery> {
    const startedMs = this.now();
    const limits = this.meter.limits(tenant);
    const state = this.state(tenant, startedMs);
    const refusal = state.refusal ?? refusalOf(state, limits, startedMs);
    if (refusal !== undefined) return refusal;
    const { minute } = state;
    const isLight =
      startedMs - state.updatedAtMs < MINUTE_MS &&
      Math.max(state.usedMs, state.usedBeforeMs) < LIGHT_SHARE * limitMs(limits);
    if (isLight) return { minute, startedMs, hasPermit: false };
    state.calledAtMs = startedMs;
    const permit = await this.takePermit(tenant, minute, limits);
    if (permit === undefined) return { minute, startedMs, hasPermit: false };
    this.updateUsed(state, minute, permit.usedMs);
    if (permit.isAdmitted) return { minute, startedMs, hasPermit: true };
    const nowMs = this.now();
    const refused = refusalOf(state, limits, nowMs) ?? {
      refusedBy: 'queriesAtOnce' as const,
      waitMs: BUSY_MS,
    };
    state.refusal = { ...refused, untilMs: nowMs + refused.waitMs };
    // After a refusal, the tenant is no longer light: its next query needs a permit, however little query time it has
    // used.
    state.updatedAtMs = -Infinity;
    return refused;
  }

  /** Counts the time of a query that {@link begin} admitted. Never fails. */
  async end(tenant: Tenant, { minute, startedMs, hasPermit }: RunningQuery): Promise<void> {
    const nowMs = this.now();
    const tookMs = nowMs - startedMs;
    this.meter.count(tenant, { queries: 1, queryMs: tookMs });
    const state = this.state(tenant, nowMs);
    // The table counted a query with a permit when it began, so its time counts towards that minute. The time of any
    // other query counts towards the minute in which this instance next reports to the table.
    if (state.minute === minute || !hasPermit) state.usedMs += tookMs;
    if (!hasPermit) state.unsentMs += tookMs;
    const isDue = state.unsentMs > 0 && nowMs - state.calledAtMs >= REPORT_MS;
    if (!hasPermit && !isDue) return;
    await this.report(tenant, state, hasPermit ? { minute, tookMs } : undefined);
  }

  /**
   * Counts the time that a tenant's rules or monitors took. Rules and monitors are never refused, so that no dashboard
   * can silence an alert. Instead, their time reduces the time that is left for queries. Never fails.
   */
  async charge(tenant: Tenant, tookMs: number): Promise<void> {
    this.meter.count(tenant, { queryMs: tookMs });
    const state = this.state(tenant, this.now());
    state.usedMs += tookMs;
    state.unsentMs += tookMs;
    if (state.unsentMs < RULES_MS) return;
    await Promise.all([this.report(tenant, state), this.meter.exchange(tenant)]);
  }

  /**
   * Adds query time to the table.
   *
   * @param permitted a query that the table counts as running: its time is added. If absent, all time that has not been
   *   sent yet is added
   */
  private async report(
    tenant: Tenant,
    state: TenantState,
    permitted?: { readonly minute: number; readonly tookMs: number },
  ): Promise<void> {
    const minute = permitted?.minute ?? state.minute;
    const sentMs = permitted?.tookMs ?? state.unsentMs;
    if (permitted === undefined) state.unsentMs = 0;
    state.calledAtMs = this.now();
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const ended = permitted === undefined ? 0 : 1;
      this.updateUsed(state, minute, await this.table.endQueries(tenant.id, minute, ended, sentMs, signal));
    } catch (error) {
      log.warn('query time was not counted in the usage table', { error });
    }
  }

  private async takePermit({ id }: Tenant, minute: number, limits: Limits) {
    try {
      const bounds = { atOnce: limits.queriesAtOnce, usedMs: limitMs(limits) };
      return await this.table.beginQuery(id, minute, bounds, AbortSignal.timeout(TIMEOUT_MS));
    } catch (error) {
      log.warn('query admitted without a budget check: the usage table did not answer', {
        error,
      });
      return undefined;
    }
  }

  /** Updates the tenant's state with the table's total for a minute, if the state is still in that minute. */
  private updateUsed(state: TenantState, minute: number, totalMs: number): void {
    if (minute !== state.minute) return;
    state.usedMs = totalMs + state.unsentMs;
    state.updatedAtMs = this.now();
  }

  private state({ id }: Tenant, nowMs: number): TenantState {
    const minute = Math.floor(nowMs / MINUTE_MS);
    let state = this.states.get(id);
    if (state === undefined) {
      const never = { updatedAtMs: -Infinity, calledAtMs: -Infinity };
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

/**
 * Returns why a tenant's query is refused: the tenant has no query seconds left in this minute, or its
 * limits allow no queries at all. Returns undefined if neither is the case.
 */
function refusalOf({ minute, usedMs }: TenantState, limits: Limits, nowMs: number): RefusedQuery | undefined {
  const waitMs = (minute + 1) * MINUTE_MS - nowMs;
  if (usedMs >= limitMs(limits)) return { refusedBy: 'querySecondsPerMinute', waitMs };
  return limits.queriesAtOnce === 0 ? { refusedBy: 'queriesAtOnce', waitMs } : undefined;
}

function limitMs({ querySecondsPerMinute }: Limits): number {
  return 1000 * querySecondsPerMinute;
}
