import { Cache } from '../model/cache';
import { CACHES } from '../model/cache-budgets';
import { type Day, dayOf } from '../model/placement';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import type { Counter, Counts } from './counters';
import { type Limits, limitsOf } from './limits';
import { MinuteBudget } from './minute-budget';
import type { Tenant } from './tenants';
import type { UsageTable } from './usage-table';

/**
 * The budgets per minute. The name of a budget is also the name of its limit; its value is the counter that counts
 * towards it.
 */
const BUDGETS = {
  samplesPerMinute: 'samplesCharged',
  servicePostsPerMinute: 'servicePosts',
} as const satisfies Partial<Record<keyof Limits, Counter>>;
export type BudgetName = keyof typeof BUDGETS;
const BUDGET_NAMES = Object.keys(BUDGETS) as BudgetName[];

/**
 * Minimum time between two additions of an instance's counts to the table, and between two reads of the
 * number of series, in ms.
 */
const COUNT_MS = 30_000;
const SERIES_MS = 30_000;
/**
 * Time-out of an exchange with the table, in ms. A request waits for the exchange. Counts that an exchange could not
 * add are sent with the next one.
 */
const TIMEOUT_MS = 1_000;
const STATE_BYTES = 1_000;

interface TenantState {
  readonly budgets: Readonly<Record<BudgetName, MinuteBudget>>;
  counts: Counts;
  day: Day;
  countedMs: number;
  series: number;
  seriesReadMs: number;
}

/**
 * Counts usage by tenant on one instance, and tracks how much of each limit is used. The instance's own counts decide
 * whether a budget has room, without a call to any store. From time to time, after a request, the meter adds its counts
 * to the table and reads the totals of all instances.
 *
 * Counts not yet added are lost if the instance dies: at most those of its last 30 s of requests.
 */
export class TenantMeter {
  private readonly states = new Cache<TenantState>(CACHES.tenantMeters, () => STATE_BYTES);

  constructor(
    private readonly table: UsageTable,
    private readonly settings: RuntimeSettings,
  ) {}

  limits(tenant: Tenant): Limits {
    return limitsOf(this.settings, tenant.limits);
  }

  count(tenant: Tenant, counts: Counts): void {
    const state = this.state(tenant);
    addTo(state.counts, counts);
    for (const budget of BUDGET_NAMES) {
      const used = counts[BUDGETS[budget]];
      if (used !== undefined) state.budgets[budget].use(Date.now(), used);
    }
  }

  /** Returns the time until a tenant's budget has room, in ms; 0 if it has room now. */
  waitMs(tenant: Tenant, budget: BudgetName): number {
    return this.state(tenant).budgets[budget].waitMs(Date.now(), this.limits(tenant)[budget]);
  }

  /**
   * Returns whether the tenant has reached its limit of series, according to a count that {@link exchange}
   * refreshes every 30 s.
   */
  isFullOfSeries(tenant: Tenant): boolean {
    return this.state(tenant).series >= this.limits(tenant).series;
  }

  /** Exchanges counts with the table if an exchange is due. Never fails a request. */
  async exchange(tenant: Tenant): Promise<void> {
    const state = this.state(tenant);
    const limits = this.limits(tenant);
    const nowMs = Date.now();
    // Create the signal only when there is something to exchange, which is rare.
    let signal: AbortSignal | undefined;
    const abort = () => {
      signal ??= AbortSignal.timeout(TIMEOUT_MS);
      return signal;
    };
    const exchanges: Promise<void>[] = [];
    for (const name of BUDGET_NAMES) {
      const budget = state.budgets[name];
      const unsent = budget.due(nowMs, limits[name]);
      if (unsent !== undefined)
        exchanges.push(
          this.table
            .use(tenant.id, name, unsent.minute, unsent.amount, abort())
            .then((total) => budget.noteExchange(unsent, total)),
        );
    }
    if (nowMs - state.seriesReadMs >= SERIES_MS) {
      state.seriesReadMs = nowMs;
      exchanges.push(
        this.table.series(tenant.id, abort()).then(({ active, added }) => {
          state.series = active + added;
        }),
      );
    }
    const today = dayOf(nowMs);
    if (nowMs - state.countedMs >= COUNT_MS || state.day !== today) {
      const { counts, day } = state;
      state.counts = {};
      state.day = today;
      state.countedMs = nowMs;
      exchanges.push(
        this.table.add(tenant.id, day, counts, abort()).catch((error: unknown) => {
          addTo(state.counts, counts);
          throw error;
        }),
      );
    }
    if (exchanges.length === 0) return;
    for (const outcome of await Promise.allSettled(exchanges))
      if (outcome.status === 'rejected')
        log.warn('usage counts were not added; the next request retries', { error: outcome.reason as Error });
  }

  private state({ id }: Tenant): TenantState {
    let state = this.states.get(id);
    if (state === undefined) {
      state = {
        budgets: { samplesPerMinute: new MinuteBudget(), servicePostsPerMinute: new MinuteBudget() },
        counts: {},
        day: dayOf(Date.now()),
        countedMs: -Infinity,
        series: 0,
        seriesReadMs: -Infinity,
      };
      this.states.set(id, state);
    }
    return state;
  }
}

function addTo(sums: Counts, counts: Counts): void {
  for (const [name, amount] of Object.entries(counts) as [Counter, number][])
    sums[name] = (sums[name] ?? 0) + amount;
}
