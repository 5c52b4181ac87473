import type * as z from 'zod';
import type { EvaluatorStore } from '../alerting/tasks/evaluator-store';
import { isOpen, type Manifest, sizeOf } from '../cold/manifest';
import type { HotTier } from '../hot/hot-tier';
import { DAY_MS } from '../model/duration';
import { allPartitions } from '../model/partitions';
import { dayOf, dayStartMs, type PartitionRef } from '../model/placement';
import { mapLimited } from '../platform/concurrency';
import { consumerLagMs } from '../recovery/consumer-lag';
import type { RecoveryTable } from '../recovery/recovery-table';
import { COUNTERS, type Counter } from '../tenancy/counters';
import type { Tenant } from '../tenancy/tenants';
import type { UsageTable } from '../tenancy/usage-table';
import type { status } from './status-response';
import { estimateCost, shareOfMonth } from './usage-cost';

/** How far a tenant's data has moved through the tiers. */
export type TenantStatus = z.output<typeof status>;

export interface StatusDependencies {
  readonly hot: Pick<HotTier, 'mover' | 'space' | 'nodes'>;
  readonly manifest: Pick<Manifest, 'days'>;
  readonly recovery: Pick<RecoveryTable, 'consumerNotes'>;
  readonly evaluator: Pick<EvaluatorStore, 'report'>;
  readonly usage: Pick<UsageTable, 'days' | 'series'>;
  /** Time for which a window stays in memory, in ms: the window's length plus the flush delay. */
  readonly residencyMs: number;
  readonly batchWindowMs: number;
  readonly archiveAfterMs: number;
  readonly retentionMs: number;
  /** Number of nodes that hold a copy of each shard's data: a primary and its replicas. */
  readonly memoryCopies: number;
  readonly now: () => number;
}

/** Interval at which the evaluator runs, in ms. */
const EVALUATED_MS = 60_000;
const PARALLEL = 32;
/** Lifetime of a cached status, in ms. So many open web pages cost no more than one. */
const MAX_AGE_MS = 5_000;
/**
 * Lifetime of the manifest's cached summary, in ms. The summary changes with each flush, and reading it takes one query
 * for each partition.
 */
const MAX_ARCHIVE_AGE_MS = 60_000;
/** How long cached usage counts are reused, in ms. Instances add their counts twice a minute. */
const MAX_USAGE_AGE_MS = 15_000;
/** Maximum number of partitions for which the manifest is queried. */
const MAX_PARTITIONS_READ = 256;
/** Number of group-windows that are sampled in each partition to estimate the partition's memory. */
const WINDOWS_SAMPLED = 8;
/**
 * How far back daily usage is listed, in ms. Four weeks span at most two months, so at most two
 * months of usage are read.
 */
const HISTORY_MS = 28 * DAY_MS;
/**
 * Number of cached tenants at which the cache is cleared. A function instance serves only a few tenants at a
 * time.
 */
const MAX_TENANTS_CACHED = 1_000;

/**
 * Reads the status of tenants. Caches each part of a status for between a few seconds and a minute, depending on
 * how fast it changes.
 */
export class Status {
  private readonly statuses = new Map<string, Cached<TenantStatus>>();
  private readonly archives = new Map<string, Cached<TenantStatus['archive']>>();
  private readonly usages = new Map<string, Cached<TenantStatus['usage']>>();

  constructor(private readonly dependencies: StatusDependencies) {}

  of(tenant: Tenant): Promise<TenantStatus> {
    return this.cached(this.statuses, tenant, MAX_AGE_MS, () => this.read(tenant));
  }

  private async read(tenant: Tenant): Promise<TenantStatus> {
    const { now, recovery, batchWindowMs } = this.dependencies;
    const partitions = allPartitions([tenant]);
    const archived = this.cached(this.archives, tenant, MAX_ARCHIVE_AGE_MS, () => this.archive(partitions));
    const [notes, rules, flush, archive, usage] = await Promise.all([
      recovery.consumerNotes(),
      this.rules(),
      this.flush(partitions),
      archived,
      this.cached(this.usages, tenant, MAX_USAGE_AGE_MS, async () =>
        this.usage(tenant, partitions, (await archived)?.bytes ?? null),
      ),
    ]);
    return {
      atMs: now(),
      stream: { behindMs: consumerLagMs(notes.values(), now(), batchWindowMs) },
      rules,
      flush,
      archive,
      usage,
    };
  }

  private async rules(): Promise<TenantStatus['rules']> {
    const { evaluator, now } = this.dependencies;
    const report = await evaluator.report();
    if (report === undefined) return null;
    const { atMs, tasks, lagMs, quietMs, failingRules, failedTasks, outboxAgeMs, dropped } = report;
    const silentMs = Math.max(0, now() - atMs - EVALUATED_MS);
    return {
      groups: tasks,
      behindMs: Math.max(lagMs, quietMs) + silentMs,
      failing: failingRules + failedTasks,
      outboxMs: outboxAgeMs,
      dropped,
    };
  }

  private async flush(partitions: readonly PartitionRef[]): Promise<TenantStatus['flush']> {
    const { hot, residencyMs } = this.dependencies;
    const nowMs = await hot.nodes.now();
    const due = await mapLimited(partitions, PARALLEL, (ref) => hot.mover.due(ref, Number.MAX_SAFE_INTEGER));
    const firstMs = Math.min(...due.map(({ oldestMs }) => oldestMs ?? Number.POSITIVE_INFINITY));
    const oldestMs = Number.isFinite(firstMs) ? Math.max(0, nowMs - firstMs) : null;
    return {
      windows: due.reduce((sum, { count }) => sum + count, 0),
      oldestMs,
      residencyMs,
      behindMs: Math.max(0, (oldestMs ?? 0) - residencyMs),
    };
  }

  private async archive(partitions: readonly PartitionRef[]): Promise<TenantStatus['archive']> {
    const { manifest, now, retentionMs, archiveAfterMs } = this.dependencies;
    if (partitions.length > MAX_PARTITIONS_READ) return null;
    const [first, last] = [dayOf(now() - retentionMs), dayOf(now() + 2 * DAY_MS)];
    const days = (await mapLimited(partitions, PARALLEL, (ref) => manifest.days(ref, first, last))).flat();
    const open = days.filter(isOpen);
    const sizes = days.flatMap(({ archived }) => (archived === undefined ? [] : [sizeOf(archived)]));
    const oldestEndMs = Math.min(...open.map(({ day }) => dayStartMs(day) + DAY_MS));
    return {
      days: days.length,
      openDays: open.length,
      behindMs: open.length === 0 ? 0 : Math.max(0, now() - oldestEndMs - archiveAfterMs),
      samples: sizes.reduce((sum, { samples }) => sum + samples, 0),
      bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  private async usage(
    { id }: Tenant,
    partitions: readonly PartitionRef[],
    cold: number | null,
  ): Promise<TenantStatus['usage']> {
    const { usage, hot, now, archiveAfterMs, memoryCopies } = this.dependencies;
    const month = dayOf(now()).slice(0, 7);
    // The first day whose samples may be only in the warm tier. Earlier days should have been archived.
    const firstWarm = dayOf(now() - archiveAfterMs - DAY_MS);
    const firstShown = dayOf(now() - HISTORY_MS);
    const months = [...new Set([firstWarm.slice(0, 7), firstShown.slice(0, 7), month].sort())];
    const [days, series, hotBytes] = await Promise.all([
      Promise.all(months.map((each) => usage.days(id, each))),
      usage.series(id),
      partitions.length > MAX_PARTITIONS_READ
        ? null
        : mapLimited(partitions, PARALLEL, (ref) => hot.space.bytes(ref, WINDOWS_SAMPLED)),
    ]);
    const counts = Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<Counter, number>;
    for (const day of days[months.indexOf(month)]!.values())
      for (const name of COUNTERS) counts[name] += day[name];
    const warm = days
      .flatMap((found) => [...found])
      .filter(([day]) => day >= firstWarm)
      .reduce((sum, [, { warmBytesWritten }]) => sum + warmBytesWritten, 0);
    const bytes = { hot: hotBytes?.reduce((sum, each) => sum + each, 0) ?? null, warm, cold };
    const cost = estimateCost({
      counts,
      bytes: { hot: bytes.hot ?? 0, warm, cold: cold ?? 0 },
      share: shareOfMonth(month, now()),
      memoryCopies,
    });
    const shown = days.flatMap((found) => [...found]).filter(([day]) => day >= firstShown);
    return {
      samples: counts.samples,
      reads: counts.sampleReads,
      days: shown.map(([day, { samples, sampleReads }]) => ({ day, samples, reads: sampleReads })),
      series: {
        active: series.active + series.added,
        stored: Math.max(series.stored, series.active + series.added),
      },
      bytes,
      dollars: cost.reduce((sum, { dollars }) => sum + dollars, 0),
      cost: cost.map(({ what, because, dollars }) => ({ what, because, dollars })),
    };
  }

  /**
   * Returns the cached value if it was read within `maxAgeMs`, otherwise reads it. Concurrent callers share one
   * read; failures are not cached.
   */
  private cached<T>(
    all: Map<string, Cached<T>>,
    { id }: Tenant,
    maxAgeMs: number,
    read: () => Promise<T>,
  ): Promise<T> {
    const { now } = this.dependencies;
    const old = all.get(id);
    if (old !== undefined && now() - old.atMs < maxAgeMs) return old.value;
    if (all.size >= MAX_TENANTS_CACHED) all.clear();
    const entry = { value: read(), atMs: now() };
    all.set(id, entry);
    entry.value.catch(() => {
      // A later read may have replaced the entry while this one was failing.
      if (all.get(id) === entry) all.delete(id);
    });
    return entry.value;
  }
}

interface Cached<T> {
  readonly value: Promise<T>;
  readonly atMs: number;
}
