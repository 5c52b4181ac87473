import { LRUCache } from 'lru-cache';
import { type Day, dayOf } from '../model/placement';
import { log } from '../platform/log';
import type { RuntimeSettings } from '../platform/settings';
import type { Counter, Counts } from './counters';
import { type Limits, limitsOf } from './limits';
import { MinuteBudget } from './minute-budget';
import type { Tenant } from './tenants';
import type { UsageTable } from './usage-table';

/** What is limited by the minute, and what of the counters uses it up. */
const BUDGETS = {
  samplesPerMinute: 'samples',
  servicePostsPerMinute: 'servicePosts',
} as const satisfies Partial<Record<keyof Limits, Counter>>;
export type BudgetName = keyof typeof BUDGETS;
const BUDGET_NAMES = Object.keys(BUDGETS) as BudgetName[];

/** How often an instance adds what it counted, and looks at how many series there are. */
const COUNT_MS = 30_000;
const SERIES_MS = 30_000;
const HOSTS_MS = 60_000;
/** A request waits for the exchange no longer; what could not be told is told with the next. */
const TIMEOUT_MS = 1_000;

interface TenantState {
  readonly budgets: Readonly<Record<BudgetName, MinuteBudget>>;
  counts: Counts;
  day: Day;
  countedMs: number;
  series: number;
  seriesReadMs: number;
  hosts: number;
  hostsReadMs: number;
}

/**
 * What an instance counts of its tenants, and what it knows of their limits. Requests are judged by what it knows: no
 * store is asked for one. Now and then, after a request, it tells the others what it counted and hears what they did.
 *
 * What was counted and not yet told is lost with the instance: at most 30 s of its requests.
 */
export class TenantMeter {
  private readonly states = new LRUCache<string, TenantState>({ max: 10_000 });

  constructor(
    private readonly table: UsageTable,
    private readonly settings: RuntimeSettings,
    private readonly now: () => number = Date.now,
  ) {}

  limits(tenant: Tenant): Limits {
    return limitsOf(this.settings, tenant.limits);
  }

  count(tenant: Tenant, counts: Counts): void {
    const state = this.state(tenant);
    addTo(state.counts, counts);
    for (const budget of BUDGET_NAMES) {
      const used = counts[BUDGETS[budget]];
      if (used !== undefined) state.budgets[budget].use(this.now(), used);
    }
  }

  /** How long until there is room in a tenant's budget, ms; 0 when there is. */
  waitMs(tenant: Tenant, budget: BudgetName): number {
    return this.state(tenant).budgets[budget].waitMs(this.now(), this.limits(tenant)[budget]);
  }

  /** Whether a tenant has as many series as it may; as far as is known, half a minute ago. */
  isFullOfSeries(tenant: Tenant): boolean {
    return this.state(tenant).series >= this.limits(tenant).series;
  }

  /** Tells what was counted and hears of the others, when it is time. Never fails a request. */
  async settle(tenant: Tenant): Promise<void> {
    const state = this.state(tenant);
    const limits = this.limits(tenant);
    const nowMs = this.now();
    // Made when there is something to tell: most requests have nothing.
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
            .then((total) => budget.exchanged(unsent, total)),
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
        log.warn('what was counted is told later', { error: outcome.reason as Error });
  }

  /**
   * Whether a tenant has as many hosts as it may: counted at most once a minute, and with those that this instance let be
   * made since.
   */
  async isFullOfHosts(tenant: Tenant): Promise<boolean> {
    const state = this.state(tenant);
    if (this.now() - state.hostsReadMs >= HOSTS_MS) {
      state.hosts = await this.table.hosts(tenant.id);
      state.hostsReadMs = this.now();
    }
    return state.hosts++ >= this.limits(tenant).hosts;
  }

  private state({ id }: Tenant): TenantState {
    let state = this.states.get(id);
    if (state === undefined) {
      state = {
        budgets: { samplesPerMinute: new MinuteBudget(), servicePostsPerMinute: new MinuteBudget() },
        counts: {},
        day: dayOf(this.now()),
        countedMs: -Infinity,
        series: 0,
        seriesReadMs: -Infinity,
        hosts: 0,
        hostsReadMs: -Infinity,
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
