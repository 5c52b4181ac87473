import { SeriesDictionary } from '../../shared/dictionary/series-dictionary';
import { ingestBatch } from '../../shared/ingest/ingest';
import { metricOf, sourceOf } from '../../shared/model/labels';
import { sourceIdOf } from '../../shared/model/placement';
import { mapLimited } from '../../shared/platform/concurrency';
import { rowsOf } from '../../shared/protocol/mackerel/json';
import { readSeries } from '../../shared/query/read-series';
import type { DeliveredRecord } from '../../shared/stream/record-decoder';
import { rowRecords } from '../../shared/stream/row-records';
import type { Tiers } from './tiers';

const HOUR_MS = 3_600_000;
/** A sample is corrected after this number of rounds. A round is a second. */
export const CORRECTED_AFTER = 2;
const quarantine = {
  put: async () => {
    throw new Error('nothing here is poison');
  },
};

/** A tenant, in the form that the adapters of {@link startTiers} take. */
export type FeedTenant = Parameters<typeof readSeries>[1] & { readonly id: string };

/**
 * A stream, and its ingester, which is called as an event source mapping calls it: a record that fails is delivered
 * again. The feed remembers every value that was appended.
 */
export class ClusterFeed {
  readonly records: (DeliveredRecord & { readonly host: string; readonly at: number })[] = [];
  /** Seconds with appended samples, keyed by host. */
  private readonly appended = new Map<string, Set<number>>();
  /** Times of failed deliveries, in ms. */
  readonly failures: number[] = [];
  readonly errors = new Set<string>();
  private second = 0;
  private readonly dictionary: SeriesDictionary;

  constructor(
    private readonly tiers: Tiers,
    private readonly tenant: FeedTenant,
    private readonly startMs: number,
    private readonly names: readonly string[],
  ) {
    this.dictionary = new SeriesDictionary(tenant.id);
  }

  /** Number of the last round. */
  get last(): number {
    return this.second - 1;
  }

  /**
   * Posts once for each host, one second later than in the previous round, and corrects an earlier sample. Returns when
   * all posts have been appended. Arrival times do not ascend.
   */
  async round(hosts: readonly string[], mayFail: boolean): Promise<void> {
    const { tenant, names } = this;
    const at = this.second++;
    const timestamp = this.startMs + at * 1000;
    const fresh = hosts.map((host, h) => {
      const points = new Map([[timestamp, new Map(names.map((name, m) => [name, sampleOf(host, at, m)]))]]);
      if (this.appended.get(host)?.has(at - CORRECTED_AFTER))
        points.set(
          timestamp - CORRECTED_AFTER * 1000,
          new Map(names.map((name, m) => [name, -sampleOf(host, at - CORRECTED_AFTER, m)])),
        );
      const [record] = rowRecords(tenant, [rowsOf(this.dictionary, sourceOf.host(host), points)]);
      const sequenceNumber = String(this.records.length + h);
      const arrivalMs = Date.now() - 7_000 * (at % 3);
      return { host, at, data: record!.data, sequenceNumber, arrivalMs, shardId: 's' };
    });
    this.records.push(...fresh);
    for (let left = fresh; left.length > 0; ) {
      const failed = new Set(await this.deliver(left, false));
      if (failed.size > 0) {
        if (!mayFail) throw new Error(`appends failed: ${[...this.errors]}`);
        this.failures.push(Date.now());
      }
      left = left.filter(({ sequenceNumber }) => failed.has(sequenceNumber));
    }
    this.noteAppended(hosts, at);
  }

  /** Records that the hosts' samples of time `at` were appended. Reads must find them from now on. */
  noteAppended(hosts: readonly string[], at: number): void {
    for (const host of hosts) this.appended.set(host, (this.appended.get(host) ?? new Set()).add(at));
  }

  async deliver(records: readonly DeliveredRecord[], isReplay: boolean): Promise<readonly string[]> {
    const { failed, errors } = await ingestBatch(
      { ...this.tiers, quarantine, windowMs: HOUR_MS, isReplay },
      records,
    );
    for (const error of errors) this.errors.add(String((error.cause as Error | undefined)?.message ?? error));
    return failed;
  }

  /** Reads the records that have arrived since the open loss again, as recovery and replayer do. */
  async replay(): Promise<number> {
    const loss = (await this.tiers.recovery.loss())!;
    const again = this.records.filter(({ arrivalMs }) => arrivalMs >= loss.fromMs);
    expect(await this.deliver(again, true)).toEqual([]);
    await this.tiers.recovery.closeLoss(loss);
    return again.length;
  }

  /**
   * Counts the samples of a host that were appended before the read began, but that the read does not return.
   *
   * @throws if a read is incomplete
   */
  async lostOf(host: string): Promise<number> {
    const { tiers, tenant, names, startMs } = this;
    const before = [...(this.appended.get(host) ?? [])];
    const source = sourceOf.host(host);
    const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
    const range = { fromMs: startMs, toMs: startMs + HOUR_MS };
    const series = [metricOf(source, names[0]!)];
    const { block } = await readSeries(tiers, tenant, { source, series, known }, range);
    const seen = new Set(Array.from(block.timestamps, (ms) => (ms - startMs) / 1000));
    return before.filter((at) => !seen.has(at)).length;
  }

  /** Reads all appended samples from all tiers, and compares them with what was appended. */
  async check(): Promise<{ lost: number; doubled: number; wrong: number; read: number }> {
    const { tiers, tenant, names, startMs } = this;
    let [lost, doubled, wrong, read] = [0, 0, 0, 0];
    await mapLimited([...this.appended], 8, async ([host, appended]) => {
      const source = sourceOf.host(host);
      const known = await tiers.catalogue.source(tenant.id, sourceIdOf(tenant.id, source));
      const series = names.map((name) => metricOf(source, name));
      const range = { fromMs: startMs, toMs: startMs + HOUR_MS };
      const { block } = await readSeries(tiers, tenant, { source, series, known }, range, {
        allowsMissing: true,
      });
      for (const [m, { rows, values }] of block.columns.entries()) {
        const seen = new Set<number>();
        for (const [i, value] of Array.from(values).entries()) {
          const at = (block.timestamps[rows === undefined ? i : rows[i]!]! - startMs) / 1000;
          if (seen.has(at)) doubled++;
          const isCorrected = appended.has(at) && appended.has(at + CORRECTED_AFTER);
          if (value !== (isCorrected ? -1 : 1) * sampleOf(host, at, m)) wrong++;
          seen.add(at);
          read++;
        }
        for (const at of appended) if (!seen.has(at)) lost++;
      }
    });
    return { lost, doubled, wrong, read };
  }
}

const sampleOf = (host: string, at: number, metric: number) =>
  Number(host.slice(4)) * 1e6 + at * 10 + metric / 7;
