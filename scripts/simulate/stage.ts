import { DAY_MS } from '../../shared/model/duration';
import type { Random } from '../faults/random';
import { Model, type Sample, type Series, usualValue } from './model';
import type { World } from './world';

export interface Host {
  readonly id: string;
  readonly name: string;
  readonly series: readonly Series[];
  /** A silent host does not post for now; a retired host never posts again. */
  state: 'posting' | 'silent' | 'retired';
  /** Time of the last row that was posted, in seconds. */
  postedS: number;
  /** Time of the last late or corrected sample, in seconds. More samples of the same window follow. */
  correctedS: number;
}

export interface Tenant {
  readonly name: string;
  id: string;
  key: string;
  readonly hosts: Host[];
  partitions: number;
  retentionMs: number;
  /**
   * Samples before this time, in seconds, are not expected: at some time they were older than the retention, so the
   * archiver may have removed them.
   */
  goneBeforeS: number;
  deletedMs: number | undefined;
}

/** The stage's retention in the simulation, and the minimum retention of a tenant, in ms. */
export const [RETENTION_MS, LEAST_RETENTION_MS] = [14 * DAY_MS, 9 * DAY_MS];
/** Name of the measurement in line protocol. The name of a series is the measurement and the field, joined by `_`. */
const MEASUREMENT = 'custom.cpu';
const RETRY_MS = 2_000;
const REST_PART_MS = 600_000;
/** Maximum time until a retried request succeeds, in ms, even during a replay. */
const SUCCEEDS_WITHIN_MS = 3 * 3_600_000;
const MOST_RETRY_MS = 60_000;
/** Maximum number of samples in one request. */
const MOST_SAMPLES = 5_000;
/** Share of the posts that use line protocol. The others use Mackerel's JSON, which costs more CPU. */
const LINES_SHARE = 0.9;

export interface StageOptions {
  readonly hosts: number;
  readonly series: number;
}

/** The actors' tools: the pipeline's API, operator commands, and the model of the operations so far. */
export class Stage {
  readonly model: Model;
  readonly tenants: Tenant[] = [];
  /** Descriptions of errors that actors and invariants found. */
  readonly flaws: string[] = [];
  readonly startS: number;
  private made = 0;
  isEnding = false;

  constructor(
    readonly world: World,
    readonly options: StageOptions,
    private readonly random: Random,
  ) {
    this.model = new Model(() => world.scheduler.nowMs);
    this.startS = world.scheduler.nowMs / 1000;
  }

  get nowMs(): number {
    return this.world.scheduler.nowMs;
  }

  sleep(ms: number): Promise<void> {
    return this.world.scheduler.sleep(ms);
  }

  /** Sleeps in short parts, so that the simulation can end during a long sleep. */
  async rest(ms: number): Promise<void> {
    for (let left = Math.max(1, ms); left > 0 && !this.isEnding; left -= REST_PART_MS)
      await this.sleep(Math.min(left, REST_PART_MS));
  }

  flaw(what: string): void {
    this.flaws.push(`${new Date(this.nowMs).toISOString()} ${what}`);
  }

  /** Records an actor's action in the trace. */
  note(what: string): void {
    this.world.scheduler.trace(`actor ${what}`);
  }

  get liveTenants(): readonly Tenant[] {
    return this.tenants.filter(({ deletedMs }) => deletedMs === undefined);
  }

  /** Draws a tenant, then one of its hosts that have posted. So small tenants are chosen as often as large ones. */
  anyHost(random: Random): { tenant: Tenant; host: Host } | undefined {
    const tenant = random.pick(this.liveTenants);
    const hosts = tenant.hosts.filter(({ postedS }) => postedS > 0);
    return hosts.length === 0 ? undefined : { tenant, host: random.pick(hosts) };
  }

  async createTenant(partitions: number, hosts: number): Promise<Tenant> {
    const name = `tenant${this.made++}`;
    const created = (await this.operate({ command: 'tenants create', name, partitions })) as { id: string };
    const tenant: Tenant = {
      name,
      id: created.id,
      key: await this.createKey(name),
      hosts: [],
      partitions,
      retentionMs: RETENTION_MS,
      goneBeforeS: 0,
      deletedMs: undefined,
    };
    for (let i = 0; i < hosts; i++) await this.createHost(tenant);
    this.tenants.push(tenant);
    return tenant;
  }

  /**
   * Creates an API key for a tenant.
   *
   * @param kept the key in use. If the tenant has too many keys because responses were lost, its other keys are revoked
   */
  async createKey(tenant: string, kept = ''): Promise<string> {
    for (;;) {
      const created = await this.operate({ command: 'keys create', tenant, rights: ['read', 'write'] });
      if (created !== undefined) return (created as { key: string }).key;
      const keys = await this.operate({ command: 'keys list', tenant });
      for (const { publicId } of (keys ?? []) as { publicId: string }[])
        if (!kept.includes(publicId)) await this.operate({ command: 'keys revoke', id: publicId });
    }
  }

  async createHost(tenant: Tenant): Promise<void> {
    const name = `host-${this.made++}`;
    const created = await this.insist<{ id: string }>(tenant, 'POST', '/api/v0/hosts', { name, meta: {} });
    // The tenant was deleted in the meantime.
    if (created === undefined) return;
    const { id } = created;
    const series = Array.from(
      { length: this.options.series },
      (_, i): Series => ({
        hostId: id,
        name: `${MEASUREMENT}_m${i}`,
        seed: this.random.integer(0, 2 ** 31),
        days: new Map(),
      }),
    );
    const host: Host = { id, name, series, state: 'posting', postedS: 0, correctedS: 0 };
    tenant.hosts.push(host);
  }

  /** Returns the samples that a host takes in a range of seconds, both ends inclusive. */
  usual({ series }: Host, fromS: number, toS: number): Sample[] {
    const samples: Sample[] = [];
    for (let time = fromS; time <= toS; time += 60)
      for (const each of series) samples.push({ series: each, time, value: usualValue(each, time) });
    return samples;
  }

  /** Posts samples until they are acknowledged, a few thousand in each request. */
  async post(tenant: Tenant, samples: readonly Sample[]): Promise<void> {
    for (let i = 0; i < samples.length; i += MOST_SAMPLES) {
      const part = samples.slice(i, i + MOST_SAMPLES);
      const [path, body] = this.random.chance(LINES_SHARE)
        ? (['/api/v2/write?precision=s', linesOf(part)] as const)
        : (['/api/v0/tsdb', pointsOf(part)] as const);
      for (let waitMs = RETRY_MS; ; waitMs = Math.min(MOST_RETRY_MS, waitMs * 2)) {
        const ended = this.model.sending(part);
        const { status, body: text } = await this.world.request('POST', path, tenant.key, body);
        // Another actor has just revoked the key, or deleted the tenant.
        const isRefused = status === 401 || status === 403;
        const isStored = status === 200 || status === 204;
        ended(isStored ? 'acknowledged' : isRefused ? 'refused' : 'unknown');
        if (isStored || tenant.deletedMs !== undefined) break;
        if (!mayRetry(status) && !isRefused) throw refused('post', status, text);
        await this.sleep(waitMs);
      }
    }
  }

  /**
   * Repeats a request until it succeeds.
   *
   * @returns the body of the response; undefined for 404, and if the tenant was deleted in the meantime
   */
  async insist<Body>(tenant: Tenant, method: string, path: string, sent?: object): Promise<Body | undefined> {
    const sinceMs = this.nowMs;
    for (let waitMs = RETRY_MS; ; waitMs = Math.min(MOST_RETRY_MS, waitMs * 2)) {
      const { status, body } = await this.world.request(method, path, tenant.key, sent);
      // Where other reads answer 503, PromQL answers with the available samples and a warning.
      const isPartial = status === 200 && (body as { warnings?: unknown }).warnings !== undefined;
      if (status === 200 && !isPartial) return body as Body;
      if (status === 404) return undefined;
      if (tenant.deletedMs !== undefined) return undefined;
      if (!isPartial && !mayRetry(status) && status !== 401) throw refused(path, status, body);
      if (this.nowMs > sinceMs + SUCCEEDS_WITHIN_MS) {
        this.flaw(`${method} ${path} of ${tenant.name} answers ${status} for hours: ${JSON.stringify(body)}`);
        return undefined;
      }
      await this.sleep(waitMs);
    }
  }

  /** Retries an operator's command until it succeeds. @returns undefined if the command is refused as invalid */
  async operate(event: object): Promise<unknown> {
    return this.command('operator', event);
  }

  async command(name: 'operator' | 'recovery' | 'flusher' | 'archiver', event: object): Promise<unknown> {
    for (let waitMs = RETRY_MS; ; waitMs = Math.min(MOST_RETRY_MS, waitMs * 2)) {
      const result = await this.world.invoke(name, event);
      if (result.ok) return result.payload;
      if (result.errorType === 'InvalidEventError') {
        this.note(`is refused: ${result.errorMessage}`);
        return undefined;
      }
      await this.sleep(waitMs);
    }
  }
}

/** Formats samples as line protocol. Consecutive samples of one host and time share a line. */
function linesOf(samples: readonly Sample[]): string {
  const lines: string[] = [];
  for (let i = 0; i < samples.length; ) {
    const { series, time } = samples[i]!;
    const fields: string[] = [];
    for (; samples[i]?.time === time && samples[i]!.series.hostId === series.hostId; i++)
      fields.push(`${samples[i]!.series.name.slice(MEASUREMENT.length + 1)}=${samples[i]!.value}`);
    lines.push(`${MEASUREMENT},host=${series.hostId} ${fields.join(',')} ${time}`);
  }
  return lines.join('\n');
}

/** Formats samples as Mackerel's JSON. */
function pointsOf(samples: readonly Sample[]): object {
  return samples.map(({ series: { hostId, name }, time, value }) => ({ hostId, name, time, value }));
}

function mayRetry(status: number): boolean {
  return status >= 500 || status === 429;
}

function refused(what: string, status: number, text: unknown): Error {
  return new Error(`${what} answered ${status}: ${JSON.stringify(text)}`);
}
