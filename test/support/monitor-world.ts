import type { EvaluatedTask } from '../../shared/alerting/tasks/evaluation';
import { decodeJson } from '../../shared/alerting/tasks/task-states';
import type { Matcher } from '../../shared/model/matcher';
import type { TimeRange } from '../../shared/model/selection';
import type { AlertBatch } from '../../shared/monitors/alert-event';
import type { Downtime } from '../../shared/monitors/downtime';
import { evaluateMonitors, type MonitorStores } from '../../shared/monitors/evaluate-monitors';
import type { Monitor } from '../../shared/monitors/monitor';
import type { MonitorState } from '../../shared/monitors/monitor-state';
import { MemorySampleStore } from '../../shared/promql/memory-store';
import type { SelectedSamples } from '../../shared/promql/store';
import type { RegisteredHost } from '../../shared/registry/host-labels';
import type { Host } from '../../shared/registry/hosts';
import type { Tenant } from '../../shared/tenancy/tenants';
import { queriesOn } from './queries-on';

export const MINUTE_MS = 60_000;
export const START_MS = 29_000_000 * MINUTE_MS;

/** A tenant with samples in memory, whose monitors are evaluated minute by minute. */
export class MonitorWorld {
  readonly samples = new MemorySampleStore();
  hosts: RegisteredHost[] = [this.host('h1'), this.host('h2', { shop: ['db'] })];
  readonly retired = new Set<string>();
  monitor: Monitor | undefined;
  downtimes: Downtime[] = [];
  state: MonitorState | undefined;
  fails = false;
  warning: string | undefined;
  minute = 0;
  /** Query time that was charged, in ms. */
  readonly charges: { readonly tenant: string; readonly tookMs: number }[] = [];

  host(
    id: string,
    roles: RegisteredHost['roles'] = {},
    status: RegisteredHost['status'] = 'working',
  ): RegisteredHost {
    return { id, name: `name-${id}`, status, memo: '', createdAt: START_MS / 1000 - 3600, roles };
  }

  /** Posts a point for the current minute, or for some minutes ago. */
  post(labels: Record<string, string>, value: number, ago = 0): void {
    const all = Object.entries({ ...labels }).sort(([a], [b]) => (a < b ? -1 : 1));
    this.samples.add(all, this.nowMs - ago * MINUTE_MS, value);
  }

  load(host: string, value: number, ago = 0): void {
    this.post({ __name__: 'loadavg5', host, hostname: `name-${host}` }, value, ago);
  }

  get nowMs(): number {
    return START_MS + this.minute * MINUTE_MS;
  }

  get stores(): MonitorStores {
    return {
      tenants: { get: async (name) => ({ id: `id of ${name}`, name }) as Tenant },
      monitors: { get: async () => this.monitor },
      states: { get: async () => this.state },
      downtimes: { list: async () => this.downtimes },
      hosts: {
        get: async (_, id) =>
          this.retired.has(id) ? ({ id, retiredAt: 1 } as Host) : ({ id, retiredAt: null } as Host),
      },
      hostNames: async () => ({
        names: ['hostname', 'role', 'service'],
        of: () => undefined,
        hosts: this.hosts,
        generation: 1,
      }),
      services: { list: async () => [{ id: 's', name: 'shop', memo: '', roles: [] }] },
      hasPosted: async (_, id) => id !== 'never',
      queriesOf: queriesOn({ select: (matchers, range) => this.select(matchers, range) }),
      charge: async (tenant, tookMs) => {
        this.charges.push({ tenant: tenant.name, tookMs });
      },
      stage: { ruleQueryOffset: 0 },
    };
  }

  private async select(matchers: readonly Matcher[], range: TimeRange): Promise<SelectedSamples> {
    if (this.fails) throw new Error('the store does not answer');
    const selected = await this.samples.select(matchers, range);
    return {
      series: selected.series.filter(({ values }) => values.length > 0),
      warnings: this.warning === undefined ? [] : [this.warning],
    };
  }

  /**
   * Evaluates the monitors for the current minute.
   *
   * @returns the events of the first tenant, as `key kind status`
   */
  async evaluate(tenants: readonly string[] = ['acme']): Promise<string[]> {
    const [outcome] = await evaluateMonitors(this.stores, {
      nowMs: this.nowMs,
      lagMs: 0,
      kind: 'monitor',
      tasks: tenants.map((tenant) => ({ tenant, task: 'm1' })),
    });
    if (outcome!.outcome === 'idle' || outcome!.outcome === 'gone') return [outcome!.outcome];
    if (outcome!.outcome === 'failed') throw new Error(outcome!.reason);
    const { state, batches } = outcome as EvaluatedTask;
    this.state = state === undefined ? undefined : (decodeJson(Buffer.from(state, 'base64')) as MonitorState);
    return batches.flatMap((batch) =>
      (decodeJson(Buffer.from(batch, 'base64')) as AlertBatch).events.map(
        ({ subject, kind, status, trigger, isTold }) =>
          `${subject.hostId ?? subject.series?.labels.job ?? '-'} ${kind} ${status}${trigger === 'monitoring' ? '' : ` ${trigger}`}${isTold ? '' : ' unnotified'}`,
      ),
    );
  }

  async next(): Promise<string[]> {
    this.minute++;
    return this.evaluate();
  }
}
